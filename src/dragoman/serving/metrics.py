"""Measurements in the text format of Prometheus. No label holds an address, a key or anything else a client chooses."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dragoman.serving.models import Models
from dragoman.serving.scheduler import Scheduler

disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each counter, which nobody reads

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one server."""

    def __init__(self, models: Models, scheduler: Scheduler) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "dragoman_requests", "Requests by route and status.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "dragoman_request_seconds", "Time to answer.", ["route"], registry=self._registry, buckets=SECONDS
        )
        self._characters = Counter(
            "dragoman_characters", "Characters of source text by model.", ["model"], registry=self._registry
        )
        self._sentences = Counter("dragoman_sentences", "Sentences computed.", registry=self._registry)
        self._batch_seconds = Histogram(
            "dragoman_batch_seconds", "Time of a batch.", registry=self._registry, buckets=SECONDS
        )
        self._registry.register(_Now(models, scheduler))
        scheduler.on_batch = self._count_batch

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is one of the server's own, whatever path was asked for."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_text(self, model: str, characters: int) -> None:
        """Count source text."""
        self._characters.labels(model).inc(characters)

    def text(self) -> bytes:
        """All measurements."""
        return generate_latest(self._registry)

    def _count_batch(self, sentences: int, seconds: float) -> None:
        self._sentences.inc(sentences)
        self._batch_seconds.observe(seconds)


class _Now(Collector):
    """What is read when it is asked for."""

    def __init__(self, models: Models, scheduler: Scheduler) -> None:
        self._models, self._scheduler = models, scheduler

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauges."""
        yield GaugeMetricFamily("dragoman_waiting_sentences", "Sentences in no batch yet.", self._scheduler.waiting)
        loaded = GaugeMetricFamily("dragoman_model_bytes", "Size of the loaded models.", labels=["model"])
        for model in self._models.loaded:
            loaded.add_metric([str(model.pair)], model.bytes)
        yield loaded
