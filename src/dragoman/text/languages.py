"""Languages of files: the code in a file's name, such as de in train.de or train.de.gz.

Codes are those of ISO 639-1 (de) and of ISO 639-2 where a language has both (deu, ger), with or without a script and a
region (pt-BR, zho_Hans); some languages with parallel text have only a code of three letters. Other suffixes (.txt,
.src, .tgt, .tok) name no language, although ISO 639-3 has assigned nearly every combination of three letters.
"""

from __future__ import annotations

import re
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.text.lines import is_compressed

_ISO_639 = (
    "aa aar, ab abk, ae ave, af afr, ak aka, am amh, an arg, ar ara, as asm, av ava, ay aym, az aze, ba bak, "
    "be bel, bg bul, bi bis, bm bam, bn ben, bo bod tib, br bre, bs bos, ca cat, ce che, ch cha, co cos, cr "
    "cre, cs ces cze, cu chu, cv chv, cy cym wel, da dan, de deu ger, dv div, dz dzo, ee ewe, el ell gre, en "
    "eng, eo epo, es spa, et est, eu baq eus, fa fas per, ff ful, fi fin, fj fij, fo fao, fr fra fre, fy fry, "
    "ga gle, gd gla, gl glg, gn grn, gu guj, gv glv, ha hau, he heb, hi hin, ho hmo, hr hrv, ht hat, hu hun, "
    "hy arm hye, hz her, ia ina, id ind, ie ile, ig ibo, ii iii, ik ipk, io ido, is ice isl, it ita, iu iku, "
    "ja jpn, jv jav, ka geo kat, kg kon, ki kik, kj kua, kk kaz, kl kal, km khm, kn kan, ko kor, kr kau, ks "
    "kas, ku kur, kv kom, kw cor, ky kir, la lat, lb ltz, lg lug, li lim, ln lin, lo lao, lt lit, lu lub, lv "
    "lav, mg mlg, mh mah, mi mao mri, mk mac mkd, ml mal, mn mon, mr mar, ms may msa, mt mlt, my bur mya, na "
    "nau, nb nob, nd nde, ne nep, ng ndo, nl dut nld, nn nno, no nor, nr nbl, nv nav, ny nya, oc oci, oj oji, "
    "om orm, or ori, os oss, pa pan, pi pli, pl pol, ps pus, pt por, qu que, rm roh, rn run, ro ron rum, ru "
    "rus, rw kin, sa san, sc srd, sd snd, se sme, sg sag, si sin, sk slk slo, sl slv, sm smo, sn sna, so som, "
    "sq alb sqi, sr srp, ss ssw, st sot, su sun, sv swe, sw swa, ta tam, te tel, tg tgk, th tha, ti tir, tk "
    "tuk, tl tgl, tn tsn, to ton, tr tur, ts tso, tt tat, tw twi, ty tah, ug uig, uk ukr, ur urd, uz uzb, ve "
    "ven, vi vie, vo vol, wa wln, wo wol, xh xho, yi yid, yo yor, za zha, zh chi zho, zu zul"
)
"""The code of ISO 639-1 of each language, then its codes of ISO 639-2."""

_THREE_LETTERS = ("ast", "ceb", "chr", "ckb", "cmn", "dsb", "fil", "haw", "hsb", "lzh", "szl", "wuu", "yue")
"""Languages without a code of two letters that parallel text is found in."""

_CANONICAL = {code: group.split()[0] for group in _ISO_639.split(", ") for code in group.split()}
_CANONICAL |= {code: code for code in _THREE_LETTERS}

_CODE = re.compile(r"(?P<language>[A-Za-z]{2,3})(?P<rest>(?:[-_][A-Za-z0-9]{2,8})*)")
_SUFFIX = re.compile(r"[A-Za-z]{2,3}(?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2}))*")
"""In file names a script or region is written as usual: new.de-en is a file of two languages."""


def language_code(text: str) -> str:
    """Return a code that a user gives, a known language's in two letters: deu -> de, pt_BR -> pt-BR.

    Raises:
        ConfigError: the text is not a code of two or three letters, with or without a script or region.
    """
    match = _CODE.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text!r} is not a language code; give one of ISO 639, such as de, deu or pt-BR")
    language = match["language"].lower()
    return _CANONICAL.get(language, language) + match["rest"].replace("_", "-")


def language_of_file(path: str | Path) -> str | None:
    """Return the language that the suffix of a file's name is the code of; None if it is none.

    The number of a reference may follow: en in test.en.0.
    """
    path = Path(path)
    path = Path(path.stem) if is_compressed(path) else path
    path = Path(path.stem) if path.suffix[1:].isdecimal() else path
    suffix = path.suffix.removeprefix(".")
    if not _SUFFIX.fullmatch(suffix):
        return None
    return language_code(suffix) if base_language(suffix).lower() in _CANONICAL else None


def known_language(text: str) -> str | None:
    """Return the code of the known language that a text is, such as DE, deu, de-AT or zho_Hans; None if it is none."""
    if not re.fullmatch(r"[A-Za-z]{2,3}(?:[-_](?:[A-Z][a-z]{3}|[A-Za-z]{2}|[0-9]{3}))*", text):
        return None
    return language_code(text) if base_language(text).lower() in _CANONICAL else None


def base_language(code: str) -> str:
    """Return the language of a code without script and region: pt for pt-BR."""
    return re.split("[-_]", code, maxsplit=1)[0]
