// Beam search for one sentence, as search/beam.py states it: finishing, pruning and stopping are the same, and ties are
// broken the same way.

import { CoveragePenalty, Normalisation } from "./normalisation.js";
import { BOS, EOS } from "./text_side.js";

/**
 * The `nBest` translations of a source, best score first, never none; those that lack a placeholder come last.
 *
 * `start` is a state of `engine` that has read no target token, `segments` the source length without EOS, `search` the
 * section of the configuration, `prefix` the ids that the translation begins with, `constraints` all others. `pause` is
 * awaited before each step, and may throw to end the search.
 *
 * A hypothesis is {tokens, logProbability, score, tokenLogProbabilities, attention, finished}: its ids end with EOS, and
 * attention has a Float32Array [S] for each of them, or is null.
 */
export async function beamSearch(engine, start, segments, search, nBest, prefix, constraints, pause) {
  const normalisation = new Normalisation(search);
  const coverage = new CoveragePenalty(search.coverage_penalty, segments);
  const finished = new Finished(nBest, normalisation);
  const history = [];
  let beam = firstBeam(start);
  for (;;) {
    await pause();
    const length = beam.rows[0].ids.length;
    const forced = prefix[length];
    if (forced !== undefined) {
      const step = await engine.step(beam.state, parentsOf(beam), tokensOf(beam), 1, [forced]);
      coverage.penalties(parentsOf(beam), step.attention);
      history.push({ beam, attention: step.attention });
      beam = advanced([{ row: 0, token: forced, total: beam.rows[0].total + step.targetLogProbabilities[0] }], beam, step);
      continue;
    }
    const atLimit = length === constraints.longest;
    const mustClose = atLimit && !finished.ends.length;
    const limits = constraints.atStep(beam.rows.map((row) => row.ids));
    // K live candidates and one that ends suffice; at the longest length all are needed, because EOS may be last.
    const k = mustClose ? engine.vocabularySize : constraints.request(limits, search.beam);
    const step = await engine.step(beam.state, parentsOf(beam), tokensOf(beam), k);
    const penalties = coverage.penalties(parentsOf(beam), step.attention);
    history.push({ beam, attention: step.attention });
    const place = history.length - 1;
    const candidates = bestCandidates(beam, search, (row) => constraints.permitted(limits, row, step, k, search.beam + 1));
    const { ends, lives } = divided(candidates, search, finished.ends.length);
    for (const { row, total } of ends) finished.add(total, penalties[row], length, place, row, true);
    const endsHere = atLimit || !lives.length;
    if (endsHere && !finished.ends.length) {
      beam.rows.forEach(({ total }, row) => {
        finished.add(total + endLogProbability(step, row, k), penalties[row], length, place, row, false);
      });
    }
    if (endsHere || stops(lives, finished, constraints, normalisation, search, length)) break;
    beam = advanced(lives, beam, step);
  }
  const hypotheses = finished.ends.map((end) => rebuilt(end, history));
  const missing = new Map(hypotheses.map((one) => [one, constraints.missing(one.tokens)]));
  return hypotheses.sort((a, b) => missing.get(a) - missing.get(b)).slice(0, nBest);
}

/** A beam: its rows, best first, and the state of the engine before it has read their tokens. */
function firstBeam(state) {
  return { rows: [{ parent: 0, token: BOS, total: 0, ids: [] }], state };
}

function advanced(candidates, beam, step) {
  const rows = candidates.map(({ row, token, total }) => {
    return { parent: row, token, total, ids: [...beam.rows[row].ids, token] };
  });
  return { rows, state: step.state };
}

function parentsOf(beam) {
  return beam.rows.map((row) => row.parent);
}

function tokensOf(beam) {
  return beam.rows.map((row) => row.token);
}

/** Live hypotheses with one more token in the order of pruning, best first: [{row, token, total, met}]. */
function bestCandidates(beam, search, continuationsOf) {
  const candidates = beam.rows.flatMap((one, row) =>
    continuationsOf(row).map(({ token, logProbability, met }, better) => {
      const total = logProbability + one.total;
      // Li et al. 2016, section 3.2: pruned as if it were less probable by g for each better sibling.
      return { row, token, total, met, worth: search.diversity ? total - search.diversity * better : total };
    }),
  );
  return candidates.sort((one, other) => other.worth - one.worth); // stable: equals stay in order of parent, then id
}

/** The candidates that finish, and those that stay alive. */
function divided(candidates, search, finishedCount) {
  const ending = ({ token }) => token === EOS;
  if (search.finish === "shrink") {
    const kept = firstOfEach(candidates, search.beam - finishedCount);
    return { ends: kept.filter(ending), lives: kept.filter((one) => !ending(one)) };
  }
  return {
    ends: firstOfEach(candidates, search.beam).filter(ending),
    lives: firstOfEach(
      candidates.filter((one) => !ending(one)),
      search.beam,
    ),
  };
}

/** The first `count` candidates of each number of phrase ids met. */
function firstOfEach(candidates, count) {
  const taken = new Map();
  return candidates.filter(({ met }) => {
    taken.set(met, (taken.get(met) ?? 0) + 1);
    return taken.get(met) <= count;
  });
}

function endLogProbability(step, row, k) {
  const place = step.words.slice(row * k, (row + 1) * k).indexOf(EOS);
  return place < 0 ? -Infinity : step.logProbabilities[row * k + place];
}

/** Stops 1 and 2 of search/beam.py: no live hypothesis can enter the n best, or K have finished and one of them leads. */
function stops(lives, finished, constraints, normalisation, search, length) {
  if (!finished.ends.length) return false;
  const best = Math.max(...lives.map(({ total }) => total));
  const bound = normalisation.bound(best, constraints.longest + 1, length + 2);
  return bound <= finished.bar || (finished.ends.length >= search.beam && best <= finished.mostProbable);
}

/** The finished hypotheses, best first, ties in order of finishing. */
class Finished {
  #nBest;
  #normalisation;
  ends = [];
  bar = -Infinity; // the score above which a new hypothesis would be among the n best
  mostProbable = -Infinity;

  constructor(nBest, normalisation) {
    this.#nBest = nBest;
    this.#normalisation = normalisation;
  }

  /** Add a hypothesis of `length` segments and EOS that ended after row `row` of step `step`. */
  add(logProbability, penalty, length, step, row, finished) {
    const score = this.#normalisation.score(logProbability, length + 1) + penalty;
    const after = this.ends.findIndex((end) => end.score < score);
    this.ends.splice(after < 0 ? this.ends.length : after, 0, { score, logProbability, step, row, finished });
    if (this.ends.length >= this.#nBest) this.bar = this.ends[this.#nBest - 1].score;
    this.mostProbable = Math.max(this.mostProbable, logProbability);
  }
}

/** The hypothesis of an end, read backwards. */
function rebuilt({ score, logProbability, step, row, finished }, history) {
  const totals = [logProbability];
  const attention = [];
  const { ids } = history[step].beam.rows[row];
  for (let place = step, at = row; place >= 0; place--) {
    const { beam, attention: weights } = history[place];
    totals.unshift(beam.rows[at].total);
    if (weights) attention.unshift(weights[at]);
    at = beam.rows[at].parent;
  }
  return {
    tokens: [...ids, EOS],
    logProbability,
    score,
    tokenLogProbabilities: totals.slice(1).map((total, place) => total - totals[place]),
    attention: attention.length ? attention : null,
    finished,
  };
}
