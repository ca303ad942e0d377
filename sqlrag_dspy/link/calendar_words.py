"""Names of months, quarters, seasons, ordinals and units of time in English, Spanish and Dutch, as patterns."""

from __future__ import annotations

from sqlrag_dspy.link.text import word_set


def _numbered(lines: str) -> dict[str, int]:
    return {word: number for number, line in enumerate(lines.split("/"), 1) for word in line.split()}


MONTHS = _numbered(
    "january jan enero ene januari/february feb febrero februari/march mar marzo maart mrt/april apr abril abr/"
    "may mayo mei/june jun junio juni/july jul julio juli/august aug agosto ago augustus/"
    "september sept sep septiembre setiembre/october oct octubre oktober okt/november nov noviembre/"
    "december dec diciembre dic"
)
ORDINALS = _numbered(
    "first 1st primer primero primera 1er 1a 1o 1ro 1ra eerste 1e 1ste/"
    "second 2nd segundo segunda 2o 2a 2do 2da tweede 2e 2de/"
    "third 3rd tercer tercero tercera 3o 3er 3ra derde 3e 3de/fourth 4th cuarto cuarta 4o 4to 4ta vierde 4e 4de"
)
PARTS = word_set(
    "year years ano anos jaar jaren month months mes meses maand maanden week weeks semana semanas weken "
    "day days dia dias dag dagen"
)
"""Words for parts of dates: they name a column only of a table that is asked about ("per month in 2023")."""
LAST = word_set("last final ultimo ultima laatste")
SEASONS = {
    **dict.fromkeys(word_set("spring primavera lente voorjaar"), 3),
    **dict.fromkeys(word_set("summer verano zomer"), 6),
    **dict.fromkeys(word_set("autumn fall otono herfst najaar"), 9),
    **dict.fromkeys(word_set("winter invierno"), 12),
}
DECADES = {
    word: 1900 + 10 * number
    for number, line in {
        5: "fifties cincuenta vijftig",
        6: "sixties sesenta zestig",
        7: "seventies setenta zeventig",
        8: "eighties ochenta tachtig",
        9: "nineties noventa negentig",
    }.items()
    for word in line.split()
}
CENTURIES = {
    word: number
    for number, line in enumerate(
        (
            "eleventh xi elfde",
            "twelfth xii twaalfde",
            "thirteenth xiii dertiende",
            "fourteenth xiv veertiende",
            "fifteenth xv vijftiende",
            "sixteenth xvi zestiende",
            "seventeenth xvii zeventiende",
            "eighteenth xviii achttiende",
            "nineteenth xix negentiende",
            "twentieth xx twintigste",
            "twenty-first xxi eenentwintigste",
        ),
        11,
    )
    for word in line.split()
}
COUNTS = _numbered(
    "one a an un una uno een/two dos twee couple/three tres drie/four cuatro vier/five cinco vijf/six seis zes/"
    "seven siete zeven/eight ocho acht/nine nueve negen/ten diez tien/eleven once elf/twelve doce twaalf"
)
UNITS = {
    **dict.fromkeys(word_set("day days dia dias dag dagen"), "day"),
    **dict.fromkeys(word_set("week weeks semana semanas weken"), "week"),
    **dict.fromkeys(word_set("month months mes meses maand maanden"), "month"),
    **dict.fromkeys(word_set("quarter quarters trimestre trimestres kwartaal kwartalen"), "quarter"),
    **dict.fromkeys(word_set("year years ano anos jaar jaren"), "year"),
}
WEEKDAYS = _numbered(
    "monday mondays lunes maandag maandagen/tuesday tuesdays martes dinsdag dinsdagen/"
    "wednesday wednesdays miercoles woensdag woensdagen/thursday thursdays jueves donderdag donderdagen/"
    "friday fridays viernes vrijdag vrijdagen/saturday saturdays sabado sabados zaterdag zaterdagen/"
    "sunday sundays domingo domingos zondag zondagen"
)


def either(found: object) -> str:
    """The words as alternatives of a pattern, longest first."""
    listed = sorted(found, key=len, reverse=True)  # type: ignore[call-overload]
    return "|".join(str(word).replace(" ", r"\s+") for word in listed)
