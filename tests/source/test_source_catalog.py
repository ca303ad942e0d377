"""The catalog over awkward databases: what is found, chosen, read, warned of and left out."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from sqlrag_dspy.errors import SourceError
from sqlrag_dspy.settings import TableSettings
from sqlrag_dspy.source import describe, schema_json
from sqlrag_dspy.source import profile as profiling
from sqlrag_dspy.types import Profile, Table


def profile(table: Table | None, column: str) -> Profile:
    assert table is not None
    found = table.column(column)
    assert found is not None
    return found.profile


def test_broken_view_is_reported_and_the_rest_is_kept(make, run):
    source = make(
        """CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, bio TEXT);
        INSERT INTO customer VALUES (1,'Ada','Runs a small bakery by the harbour.'),(2,'Bo','Repairs bicycles.');
        CREATE TABLE gone (x INT); CREATE VIEW v_old AS SELECT x FROM gone;
        CREATE VIEW v_ok AS SELECT id, name FROM customer; DROP TABLE gone;"""
    )
    assert [t.name for t in source.catalog.tables] == ["customer", "v_ok"]
    assert [name for name, _ in source.catalog.broken] == ["v_old"]
    assert "no such table" in source.catalog.broken[0][1]
    assert source.catalog.table("customer").text_columns == ("bio",)
    assert source.catalog.table("v_ok").is_view
    assert run(source, "SELECT count(*) FROM v_ok") == [(2,)]


def test_empty_string_in_integer_column_reads_as_null_with_a_warning(make, run):
    source = make(
        """CREATE TABLE reading (id INTEGER PRIMARY KEY, sensor TEXT, gain INT, note TEXT);
        INSERT INTO reading VALUES (1,'a',1,'ok'),(2,'a',2,'ok'),(3,'b',3,'drift'),(4,'b',4,'ok'),
        (5,'b','','sensor unplugged');"""
    )
    assert run(source, "SELECT count(*), sum(gain) FROM reading") == [(5, 10)]
    assert [w for w in source.catalog.warnings if w.startswith("reading.gain")]
    assert source.catalog.table("reading").text_columns == ("note",)
    assert "sensor" in source.catalog.table("reading").filter_columns


def test_text_in_integer_column_reads_as_null_and_is_counted(make, run):
    rows = [(i, i) for i in range(40)]
    source = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); ", {"INSERT INTO t VALUES (?,?)": rows}
    )
    source.close()
    source = make("INSERT INTO t VALUES (99, 'many')")
    assert profile(source.catalog.table("t"), "n").found == "integer"
    assert profile(source.catalog.table("t"), "n").misfits == 1
    assert run(source, "SELECT max(n), count(n), count(*) FROM t") == [(39, 40, 41)]


def test_mostly_text_in_integer_column_is_text(make, run):
    source = make("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES ('a'),('b'),('c'),(10),(9);")
    assert profile(source.catalog.table("t"), "n").found == "text"
    assert run(source, "SELECT max(n) FROM t") == [("c",)]


def test_view_columns_keep_number_types_whatever_function_made_them(make, run):
    source = make(
        """CREATE TABLE sale (id INTEGER PRIMARY KEY, ts TEXT, amount REAL, qty INT);
        INSERT INTO sale VALUES (1,'2024-01-05',9.5,2),(2,'2024-01-20',100.25,10),(3,'2024-02-01',20,3);
        CREATE VIEW sale_v AS SELECT id, unixepoch(ts) AS u, qty, amount * qty AS line FROM sale;"""
    )
    assert run(source, "SELECT id FROM sale_v ORDER BY line DESC LIMIT 1") == [(2,)]
    assert run(source, "SELECT max(qty), sum(line) FROM sale_v") == [(10, 1081.5)]
    assert run(source, "SELECT u FROM sale_v WHERE id = 1") == [(1704412800,)]


def test_a_view_gives_the_rows_that_sqlite_gives(make, run):
    source = make(
        """CREATE TABLE sale (id INTEGER PRIMARY KEY, shop TEXT, qty INT, paid REAL);
        INSERT INTO sale VALUES (1,'a',9,9.5),(2,'b',10,100),(3,'a',100,20),(4,'b',2,7),(5,'a',3,NULL);
        CREATE VIEW best AS SELECT id, qty FROM sale ORDER BY qty DESC LIMIT 2;
        CREATE VIEW totals AS SELECT shop, count(*) AS n, max(qty) AS most, sum(paid) AS paid FROM sale GROUP BY 1;
        CREATE VIEW parts AS SELECT id, qty / 2 AS half, shop || '-' || qty AS label FROM sale;
        CREATE VIEW "count of all" AS SELECT count(*) FROM sale;"""
    )
    assert source.catalog.broken == ()
    assert run(source, "SELECT id, qty FROM best ORDER BY id") == [(2, 10), (3, 100)]
    assert run(source, "SELECT * FROM totals ORDER BY shop") == [("a", 3, 100, 29.5), ("b", 2, 10, 107)]
    assert run(source, "SELECT half, label FROM parts WHERE id = 1") == [(4, "a-9")]
    assert run(source, 'SELECT * FROM "count of all"') == [(5,)]


def test_a_view_is_searched_only_for_texts_that_no_table_holds(make):
    script = """CREATE TABLE note (id INTEGER PRIMARY KEY, about TEXT, body TEXT);
        CREATE TABLE letter (id INTEGER PRIMARY KEY, body TEXT);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO note SELECT i, 'boat', 'The pump of boat ' || i || ' was mended by ' || i || ' hands today.' FROM n;
        INSERT INTO letter SELECT id, 'Dear all, we found that ' || lower(body) FROM note;
        CREATE VIEW recent AS SELECT id AS number, body AS words FROM note WHERE id > 5;
        CREATE VIEW everything AS SELECT id, body FROM note UNION ALL SELECT id + 100, body FROM letter;
        CREATE VIEW joined AS SELECT id, about || ': ' || body AS told FROM note;"""
    searched = {table.name: table.text_columns for table in make(script).catalog.tables}
    assert searched == {
        "note": ("body",), "letter": ("body",), "recent": (), "everything": (), "joined": ("told",),
    }  # fmt: skip
    asked = make("SELECT 1", tables={"recent": TableSettings(text=["words"])}).catalog
    assert asked.table("recent").text_columns == ("words",)


def test_numbers_in_date_columns_read_as_iso_dates(make, run):
    source = make(
        """CREATE TABLE event (id INTEGER PRIMARY KEY, day DATE, happened TIMESTAMP, body TEXT);
        INSERT INTO event VALUES (1,'2024-03-09','2024-03-09 10:00:00','ISO text'),
        (2,'20240310',1710064800,'compact'),(3,2460379.5,NULL,'julian day'),(4,'2024-03-11',1710064800000,'ms');"""
    )
    days = [("2024-03-09",), ("2024-03-10",), ("2024-03-10",), ("2024-03-11",)]
    assert run(source, "SELECT day FROM event ORDER BY id") == days
    assert run(source, "SELECT happened FROM event WHERE id IN (2, 4)") == [("2024-03-10 10:00:00",)] * 2
    day = profile(source.catalog.table("event"), "day")
    assert (day.found, day.minimum, day.maximum) == ("date", "2024-03-09", "2024-03-11")
    assert any("event.day mixes" in warning for warning in source.catalog.warnings)
    assert list(source.scan("event", ["day"])) == days


def test_iso_dates_in_date_columns_stay_as_stored(make, run):
    source = make(
        "CREATE TABLE t (d DATE); INSERT INTO t VALUES ('2024-03-09'),('2024-04-01 08:00:00'),(NULL);"
    )
    found = profile(source.catalog.table("t"), "d")
    assert (found.found, found.date_formats) == ("datetime", ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S"))
    assert run(source, "SELECT d FROM t WHERE d LIKE '2024-04%'") == [("2024-04-01 08:00:00",)]


DATE_CASES = [
    (["2023-04-17", "2023-12-01"], "date", ("%Y-%m-%d",)),
    (["2023-04-17 10:00:00", "2023-12-01 23:59:59"], "datetime", ("%Y-%m-%d %H:%M:%S",)),
    (["2023-04-17T10:00:00Z"], "datetime", ("%Y-%m-%dT%H:%M:%SZ",)),
    (["2023-04-17T10:00:00-08:00"], "datetime", ("%Y-%m-%dT%H:%M:%S%z",)),
    (["25/12/2023", "01/02/2023"], "date", ("%d/%m/%Y",)),
    (["12/25/2023", "01/02/2023"], "date", ("%m/%d/%Y",)),
    (["17 Apr 2023", "3 May 2021"], "date", ("%d %b %Y",)),
    (["Apr 17, 2023", "May 3, 2021"], "date", ("%b %d, %Y",)),
    (["17 Apr 2023 14:05", "03 May 2021 09:00"], "datetime", ("%d %b %Y %H:%M",)),
    (["April 17, 2023, 2:05 PM", "May 3, 2021, 11:00 AM"], "datetime", ("%B %d, %Y, %I:%M %p",)),
    (["25-12-2023 14:05", "01-02-2023 23:59"], "datetime", ("%d-%m-%Y %H:%M",)),
    (["April 17, 2023", "May 3, 2021"], "date", ("%B %d, %Y",)),
    (["20230417", "20231201", "20220101"], "date", ("%Y%m%d",)),
    (["2023-04", "2023-12"], "date", ("%Y-%m",)),
    (["2021", "2022", "2023"], "integer", ()),
    (["10:30", "11:45"], "text", ()),
    (["1.2.3", "10.20.30"], "text", ()),
    (["555-1234", "555-9876"], "text", ()),
]


def test_date_formats_are_decided_by_the_data(make):
    script = "".join(f"CREATE TABLE t{place} (d TEXT);" for place in range(len(DATE_CASES)))
    rows = {
        f"INSERT INTO t{place} VALUES (?)": [(text,) for text in texts]
        for place, (texts, _, _) in enumerate(DATE_CASES)
    }
    catalog = make(script, rows).catalog
    seen = [profile(catalog.table(f"t{place}"), "d") for place in range(len(DATE_CASES))]
    assert [(p.found, p.date_formats) for p in seen] == [(found, formats) for _, found, formats in DATE_CASES]


def test_a_placeholder_does_not_make_a_text_of_dates_or_numbers(make):
    source = make(
        """CREATE TABLE t (placed TEXT, n INTEGER); INSERT INTO t VALUES
        ('2024-01-03',1),('2024-01-20',2),('2024-02-02','N/A'),('n/a',4);"""
    )
    placed, n = profile(source.catalog.table("t"), "placed"), profile(source.catalog.table("t"), "n")
    assert (placed.found, placed.misfits, placed.date_formats) == ("date", 1, ("%Y-%m-%d",))
    assert (n.found, n.misfits) == ("integer", 1)


def test_a_large_table_is_sampled_and_its_whole_asked_for_the_rest(make, monkeypatch):
    monkeypatch.setattr(profiling, "SAMPLE", 200)
    rows = [
        (i % 2999, i, ["a", "b"][i % 2], f"u{i}", f"n{i % 999}", f"2024-01-{i % 28 + 1:02}")
        for i in range(3000)
    ]
    rows[1234] = (1234, 0.5, "rare", "u1234", "n7", "2031-12-31")
    source = make(
        "CREATE TABLE t (x INTEGER, n INTEGER, kind TEXT, u TEXT, nearly TEXT, d TEXT)",
        {"INSERT INTO t VALUES (?,?,?,?,?,?)": rows},
    )
    table = source.catalog.table("t")
    assert (table.rows, table.key) == (3000, ("u",))
    assert profile(table, "n").found == "number"
    assert dict(profile(table, "kind").values) == {"a": 1499, "b": 1500, "rare": 1}
    assert profile(table, "d").maximum == "2031-12-31"
    assert not profile(table, "nearly").is_categorical
    assert 850 < profile(table, "nearly").distinct < 1150


def test_several_date_formats_in_one_column_most_frequent_first(make, run):
    texts = ["2023-04-17"] * 5 + ["17 Apr 2023"] * 3 + ["25/12/2023"] * 2 + ["", "soon"]
    source = make("CREATE TABLE t (d TEXT)", {"INSERT INTO t VALUES (?)": [(t,) for t in texts]})
    seen = profile(source.catalog.table("t"), "d")
    assert seen.date_formats == ("%Y-%m-%d", "%d %b %Y", "%d/%m/%Y")
    assert (seen.misfits, seen.minimum, seen.maximum) == (1, "2023-04-17", "2023-12-25")
    assert run(source, "SELECT count(*) FROM t WHERE d = '17 Apr 2023'") == [(3,)]


def test_codes_and_versions_are_text_and_plain_digits_are_numbers(make, run):
    source = make(
        """CREATE TABLE t (zip TEXT, version TEXT, age TEXT, good BOOLEAN, rating INTEGER, price TEXT);
        INSERT INTO t VALUES ('00718','3.1','32',0,2,'1.5'),('718','3.10','9',1,3,'2'),
        ('501','3.2','26',1,5,'10.25');"""
    )
    table = source.catalog.table("t")
    found = {c.name: c.profile.found for c in table.columns}
    assert found == {
        "zip": "text",
        "version": "text",
        "age": "integer",
        "good": "boolean",
        "rating": "integer",
        "price": "number",
    }
    assert run(source, "SELECT count(*) FROM t WHERE zip = '718'") == [(1,)]
    assert run(source, "SELECT count(*) FROM t WHERE rating = 2.5") == [(0,)]
    assert run(source, "SELECT rating FROM t WHERE good ORDER BY rating") == [(3,), (5,)]
    assert run(source, "SELECT max(age) FROM t") == [(32,)]


def test_fractions_in_an_integer_column_make_it_a_number(make, run):
    source = make("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1),(2.5),(3);")
    assert run(source, "SELECT sum(n) FROM t") == [(6.5,)]


def test_identifiers_of_nineteen_digits_keep_every_digit(make, run):
    big = [9223372036854775807, 1234567890123456789, 1234567890123456788, -9223372036854775808]
    source = make(
        "CREATE TABLE post (id INTEGER PRIMARY KEY, reply INTEGER, body TEXT);",
        {"INSERT INTO post VALUES (?, ?, 'x')": [(n, n) for n in big]},
    )
    assert run(source, "SELECT id, reply FROM post ORDER BY id") == [(n, n) for n in sorted(big)]
    assert source.catalog.table("post").column("reply").profile.found == "integer"
    assert list(source.scan("post", ["id"], [1234567890123456788])) == [(1234567890123456788,)]


def test_numbers_that_are_not_finite_read_as_missing(make, run):
    source = make(
        "CREATE TABLE m (id INTEGER PRIMARY KEY, v REAL);",
        {"INSERT INTO m(v) VALUES (?)": [(1.5,)] * 40 + [(float("inf"),), ("NaN",), ("-Infinity",)]},
    )
    assert run(source, "SELECT sum(v), max(v), count(v), count(*) FROM m") == [(60.0, 1.5, 40, 43)]
    assert source.catalog.table("m").column("v").profile.misfits == 3
    assert any("m.v holds 3 value(s)" in warning for warning in source.catalog.warnings)


def test_row_numbers_are_numbers_beside_generated_columns(make, run):
    source = make(
        "CREATE TABLE g (a TEXT, b TEXT AS (a || '!') VIRTUAL); INSERT INTO g(a) VALUES ('x'), ('x'), ('y');"
    )
    assert source.catalog.table("g").key == ("rowid",)
    assert run(source, "SELECT rowid, b FROM g ORDER BY rowid") == [(1, "x!"), (2, "x!"), (3, "y!")]
    assert list(source.scan("g", ["rowid", "b"], [3])) == [(3, "y!")]
    assert [row[0] for row in source.scan("g", ["rowid"])] == [1, 2, 3]


def test_nocase_column_compares_as_in_the_source(make, run):
    source = make(
        """CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, about TEXT);
        INSERT INTO city VALUES (1,'GENEVA','Lake and fountain.'),(2,'geneva','Old town and watches.'),
        (3,'Zürich','Banks and a lake.');"""
    )
    assert run(source, "SELECT count(*) FROM city WHERE name = 'Geneva'") == [(2,)]
    assert any("city.name" in w and "NOCASE" in w for w in source.catalog.warnings)
    ignoring = {column.name for column in source.catalog.table("city").columns if column.ignores_case}
    assert ignoring == {"name"}


def test_columns_and_tables_that_sql_cannot_name_are_left_out_and_told(make, run):
    source = make(
        """CREATE TABLE t (id INTEGER, "É" TEXT, "é" TEXT, "" TEXT, PRIMARY KEY (id, "é"));
        INSERT INTO t VALUES (1, 'upper', 'lower', 'none');
        CREATE TABLE w ("" TEXT, a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO w VALUES ('', 'x');
        CREATE TABLE "ÉTÉ" (id INTEGER); INSERT INTO "ÉTÉ" VALUES (1); CREATE TABLE "été" (id INTEGER);"""
    )
    assert run(source, "SELECT * FROM t") == [(1, "upper")]
    assert source.catalog.table("t").key == ("id",)
    assert run(source, "SELECT a FROM w") == [("x",)]
    assert len(source.catalog.warnings) == 3
    assert any("t.é" in warning and "'É'" in warning for warning in source.catalog.warnings)
    assert [name for name, _ in source.catalog.broken] == ["été"]
    assert run(source, 'SELECT count(*) FROM "ÉTÉ"') == [(1,)]


def test_dates_written_in_several_ways_or_in_one_that_may_mean_two_are_told(make):
    day = "CREATE TABLE e (id INTEGER PRIMARY KEY, d TEXT);"
    ways = {
        "several": ["2024-03-01", "04/13/2024", "May 5, 2024"],
        "either": ["03/04/2024", "05/06/2024"],
        "clear": ["03/04/2024", "25/06/2024"],
        "timed": ["2024-03-01", "2024-03-01 10:00:00"],
    }
    told = {}
    for name, written in ways.items():
        source = make(day, {"INSERT INTO e(d) VALUES (?)": [(d,) for d in written]}, name=f"{name}.db")
        assert source.catalog.table("e").column("d").is_date
        told[name] = " ".join(source.catalog.warnings)
    assert "e.d writes dates in several ways" in told["several"]
    assert "e.d does not tell days from months; its dates are read as %m/%d/%Y" in told["either"]
    assert told["clear"] == told["timed"] == ""


def test_bytes_that_are_not_utf8_are_replaced_and_named(make, run):
    source = make(
        """CREATE TABLE work_order (id INTEGER PRIMARY KEY, body TEXT);
        INSERT INTO work_order VALUES (1,'Pump SEAL leaked again.'),(2,CAST(x'56616c766520ff20737475636b' AS TEXT)),
        (3,'Motor hums at night.');"""
    )
    assert run(source, "SELECT id FROM work_order WHERE body ILIKE '%seal%'") == [(1,)]
    assert run(source, "SELECT count(*) FROM work_order WHERE length(trim(body)) > 0") == [(3,)]
    assert run(source, "SELECT strip_accents(upper(body)) FROM work_order WHERE id = 2") == [
        ("VALVE � STUCK",)
    ]
    assert list(source.scan("work_order", ["body"], [2])) == [("Valve � stuck",)]
    (warning,) = source.catalog.warnings
    assert "work_order.body" in warning
    assert "2" in warning
    assert source.catalog.table("work_order").text_columns == ("body",)


def test_binary_values_read_as_hexadecimal(make, run):
    source = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, x'ff00fe'),(2, x'89504e47');"
    )
    assert run(source, "SELECT b FROM t ORDER BY id") == [("ff00fe",), ("89504e47",)]
    assert source.catalog.table("t").text_columns == ()


def test_awkward_names(make, run):
    source = make(
        """CREATE TABLE "order ""x"" it's" ("a b" TEXT, "select" INTEGER, "q""x" TEXT, "Ünï" TEXT, "it's" TEXT);
        INSERT INTO "order ""x"" it's" VALUES ('one two', 7, 'q', 'ü', 's');"""
    )
    (table,) = source.catalog.tables
    assert table.name == 'order "x" it\'s'
    assert run(source, 'SELECT "select", "Ünï", "it\'s" FROM "order ""x"" it\'s"') == [(7, "ü", "s")]
    names = [c.name for c in table.columns]
    assert list(source.scan(table.name, [*names, "rowid"])) == [("one two", 7, "q", "ü", "s", 1)]


def test_without_a_key_the_row_number_is_the_key(make, run):
    source = make("CREATE TABLE t (a TEXT, b TEXT); INSERT INTO t VALUES ('x','1'),('x','2'),('y','2');")
    assert source.catalog.table("t").key == ("rowid",)
    assert run(source, "SELECT rowid, a FROM t WHERE a = 'y'") == [(3, "y")]
    assert list(source.scan("t", ["rowid", "b"], [1, 3])) == [(1, 1), (3, 2)]


def test_a_view_without_a_key_has_row_numbers(make):
    source = make(
        """CREATE TABLE t (a TEXT, b TEXT); INSERT INTO t VALUES ('x','1'),('x','2'),('y','2');
        CREATE VIEW v AS SELECT a FROM t;"""
    )
    assert source.catalog.table("v").key == ("rowid",)
    assert list(source.scan("v", ["rowid", "a"])) == [(1, "x"), (2, "x"), (3, "y")]
    assert list(source.scan("v", ["a"], [3])) == [("y",)]


def test_keys_declared_found_and_set(make, run):
    script = """CREATE TABLE d (a TEXT, b INTEGER, c TEXT, PRIMARY KEY (b, a)); INSERT INTO d VALUES ('x', 1, 'z');
        CREATE TABLE u (slug TEXT, n INTEGER); INSERT INTO u VALUES ('p', 1), ('q', 1);
        CREATE TABLE w (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID; INSERT INTO w VALUES ('k', 'v');
        CREATE TABLE n (k TEXT PRIMARY KEY, v TEXT); INSERT INTO n VALUES (NULL, 'v'), ('a', 'w');"""
    source = make(script)
    keys = {t.name: t.key for t in source.catalog.tables}
    assert keys == {"d": ("b", "a"), "u": ("slug",), "w": ("k",), "n": ("rowid",)}
    assert list(source.scan("d", ["c"], [(1, "x"), (2, "x")])) == [("z",)]
    assert list(source.scan("w", ["v"], ["k"])) == [("v",)]
    assert run(source, "SELECT count(*) FROM w") == [(1,)]
    source = make("SELECT 1", tables={"U": TableSettings(key="N", text=["SLUG"], filters=[])})
    assert source.catalog.table("u").key == ("n",)
    assert source.catalog.table("u").text_columns == ("slug",)
    assert any("shared" in w for w in source.catalog.warnings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"articel": TableSettings()}, "did you mean 'article'?"),
        ({"article": TableSettings(key="titel")}, "no column 'titel' in article; did you mean 'title'?"),
        ({"article": TableSettings(text=["zzz"])}, "no column 'zzz' in article; it has id, title"),
        ({"article": TableSettings(filters=["titl"])}, "did you mean 'title'?"),
    ],
)
def test_settings_that_do_not_fit_get_one_line(make, settings, message):
    source = make("CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT)", tables=settings)
    with pytest.raises(SourceError) as caught:
        _ = source.catalog
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_full_text_tables_show_without_their_shadows(make, run):
    source = make(
        """CREATE VIRTUAL TABLE ft USING fts5(body); INSERT INTO ft VALUES ('hello world of text');
        CREATE TABLE ft_notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO ft_notes VALUES (1, 'mine');
        CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT); INSERT INTO a(x) VALUES ('1');"""
    )
    assert [t.name for t in source.catalog.tables] == ["a", "ft", "ft_notes"]
    assert run(source, "SELECT body FROM ft") == [("hello world of text",)]


def test_generated_columns_are_read(make, run):
    source = make(
        """CREATE TABLE g (id INTEGER PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a * 2) VIRTUAL,
        c INT GENERATED ALWAYS AS (a * 3) STORED); INSERT INTO g(a) VALUES (10), (9);"""
    )
    assert run(source, "SELECT max(b), max(c) FROM g") == [(20, 30)]
    assert list(source.scan("g", ["b", "c"], [2])) == [(18, 27)]


def test_empty_table_keeps_declared_types(make, run):
    source = make("CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, r REAL, ok BOOLEAN, s TEXT, d DATE)")
    (table,) = source.catalog.tables
    assert (table.rows, table.key) == (0, ("id",))
    assert {c.profile.found for c in table.columns} == {"empty"}
    assert run(source, "SELECT sum(n), avg(r), count(*) FILTER (ok), max(s || 'x') FROM t") == [
        (None, None, 0, None)
    ]
    assert list(source.scan("t", ["id", "s"])) == []


def test_references_declared_and_inferred(make):
    rows = {
        "INSERT INTO customers VALUES (?,?)": [(i, f"name {i}") for i in range(1, 31)],
        "INSERT INTO orders VALUES (?,?,?,?)": [(i, i % 30 + 1, i % 5 + 1, None) for i in range(1, 61)],
        "INSERT INTO shops VALUES (?,?)": [(i, f"s{i}") for i in range(1, 6)],
        "INSERT INTO tickets VALUES (?,?,?)": [(i, i % 30 + 1, 900 + i) for i in range(1, 61)],
    }
    source = make(
        """CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE shops (shop_no INTEGER PRIMARY KEY, label TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INT REFERENCES Customers, shop_no INT, x TEXT);
        CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer_id INT, shop_no INT);""",
        rows,
    )

    def of(name):
        return {
            (k.columns, k.table, k.to_columns, k.is_declared) for k in source.catalog.table(name).foreign_keys
        }

    assert of("orders") == {
        (("customer_id",), "customers", ("id",), True),
        (("shop_no",), "shops", ("shop_no",), False),
    }
    # The values of tickets.shop_no are no shops, so only the customer is inferred.
    assert of("tickets") == {(("customer_id",), "customers", ("id",), False)}


def test_references_are_found_by_range_list_and_look_up(make):
    source = make(
        """CREATE TABLE codes (code TEXT PRIMARY KEY, n INT);
        CREATE TABLE areas (area_id INTEGER PRIMARY KEY);
        CREATE TABLE cities (city_key TEXT PRIMARY KEY);
        CREATE TABLE visits (id INTEGER PRIMARY KEY, code TEXT, area_id INT, city_key TEXT);
        CREATE TABLE drafts (id INTEGER PRIMARY KEY, code TEXT, area_id INT, city_key TEXT);
        CREATE TABLE gaps (id INTEGER PRIMARY KEY, code TEXT, area_id INT, city_key TEXT);""",
        {
            "INSERT INTO codes VALUES (?,?)": [(c, 1) for c in "ABD"],
            "INSERT INTO areas VALUES (?)": [(i,) for i in (*range(1, 50), *range(51, 90))],
            "INSERT INTO cities VALUES (?)": [(f"city {i:03}",) for i in range(0, 400, 2)],
            "INSERT INTO visits VALUES (?,?,?,?)": [
                (i, "AB"[i % 2], 1 + i % 3, f"city {2 * (i % 9):03}") for i in range(60)
            ],
            # Beyond the range, or not in the list, of the keys.
            "INSERT INTO drafts VALUES (?,?,?,?)": [
                (i, "AX"[i % 2], 88 + i % 3, f"town {i % 9:03}") for i in range(60)
            ],
            # Within the range, and no key.
            "INSERT INTO gaps VALUES (?,?,?,?)": [
                (i, "AC"[i % 2], 49 + i % 3, f"city {i % 9:03}") for i in range(60)
            ],
        },
    )
    found = {table.name: {k.table for k in table.foreign_keys} for table in source.catalog.tables}
    assert found["visits"] == {"codes", "areas", "cities"}
    assert found["drafts"] == set()
    assert found["gaps"] == set()


def test_categorical_and_long_text(make):
    prose = "The harbour crane was inspected by two engineers who wrote a short report about its cable and brakes. "
    rows = [
        (i, ["open", "closed"][i % 2], prose * (1 + i % 3), f"Title number {i}", 2000 + i % 4)
        for i in range(100)
    ]
    source = make(
        "CREATE TABLE doc (id INTEGER PRIMARY KEY, status TEXT, body TEXT, title TEXT, year INTEGER)",
        {"INSERT INTO doc VALUES (?,?,?,?,?)": rows},
    )
    table = source.catalog.table("doc")
    assert table.text_columns == ("body",)
    assert table.filter_columns == ("status",)
    assert profile(table, "body").is_long_text
    assert profile(table, "status").values == (("closed", 50), ("open", 50))
    assert not profile(table, "title").is_categorical
    assert profile(table, "year").values == ((2000, 25), (2001, 25), (2002, 25), (2003, 25))
    assert describe(source) == {"doc": TableSettings(key="id", text=["body"], filters=["status"])}


def test_null_empty_and_blank_texts_count_as_missing(make, run):
    source = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1,'a'),(2,NULL),(3,''),(4,' \n ');"
    )
    seen = profile(source.catalog.table("t"), "s")
    assert (seen.null_share, seen.distinct, seen.values) == (0.75, 1, (("a", 1),))
    assert list(source.scan("t", ["s"])) == [("a",), (None,), ("",), (" \n ",)]


def test_schema_json_is_json(make):
    source = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT, r REAL); INSERT INTO t VALUES (1,'2024-01-02',9e999);"
    )
    written = json.loads(json.dumps(schema_json(source.catalog), allow_nan=False))
    (table,) = written["tables"]
    assert table["columns"][1]["profile"]["minimum"] == "2024-01-02"
    assert written["fingerprint"] == source.catalog.fingerprint


def test_cache_serves_the_same_catalog_until_something_changes(make, tmp_path: Path):
    cache = tmp_path / "cache" / "catalog.json"
    first = make(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, name TEXT COLLATE NOCASE REFERENCES u(code));"
        "INSERT INTO t VALUES (1, 5, 'x'); CREATE TABLE u (code TEXT PRIMARY KEY); INSERT INTO u VALUES ('x');"
        "CREATE VIEW old AS SELECT x FROM gone;",
        cache=cache,
    )
    catalog = first.catalog
    written = cache.read_text()
    assert make("SELECT 1", cache=cache).catalog == catalog
    assert cache.read_text() == written
    assert make("INSERT INTO t(id, n) VALUES (2, 6)", cache=cache).catalog.table("t").rows == 2
    changed = cache.read_text()
    assert make("SELECT 1", cache=cache, tables={"t": TableSettings(key="n")}).catalog.table("t").key == (
        "n",
    )
    cache.write_text(changed[:50])
    assert make("SELECT 1", cache=cache).catalog.table("t").rows == 2


def test_duckdb_sources_keep_their_types(tmp_path: Path):
    duckdb = pytest.importorskip("duckdb")
    from sqlrag_dspy.settings import Limits
    from sqlrag_dspy.source import open_source
    from sqlrag_dspy.types import CheckedSql

    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE kind (code VARCHAR PRIMARY KEY); INSERT INTO kind VALUES ('a'), ('b');"
            "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, ts TIMESTAMPTZ, amount DECIMAL(10,2), big HUGEINT, "
            "tags VARCHAR[], code VARCHAR REFERENCES kind(code), zip VARCHAR, b BLOB, u UUID, x DOUBLE, flag BOOLEAN);"
            "INSERT INTO t VALUES (1, DATE '2024-03-09', TIMESTAMPTZ '2024-03-09 10:00:00+00', 12.50, "
            "170141183460469231731687303715884105727, ['p','q'], 'a', '123', '\\xFF\\x00'::BLOB, uuid(), 'nan', true);"
            "CREATE VIEW v AS SELECT id, d FROM t; CREATE VIEW dead AS SELECT * FROM kind; "
        )
    with open_source(str(path), limits=Limits()) as source:
        catalog = source.catalog
        assert catalog.dialect == "duckdb"
        table = catalog.table("t")
        found = {c.name: c.profile.found for c in table.columns}
        assert found["d"] == "date"
        assert found["ts"] == "datetime"
        assert found["amount"] == "number"
        assert found["big"] == "integer"
        assert found["zip"] == "text"
        assert found["flag"] == "boolean"
        assert table.foreign_keys[0].table == "kind"
        assert profile(table, "d").date_formats == ()
        rows = source.execute(CheckedSql("SELECT d, ts, amount, big, tags, b, x, flag FROM t", (), ())).values
        big = 170141183460469231731687303715884105727
        assert rows == (("2024-03-09", "2024-03-09 10:00:00", 12.5, big, "[p, q]", "ff00", None, True),)
        assert list(source.scan("t", ["d", "amount"], [1])) == [("2024-03-09", 12.5)]
        assert catalog.table("v").is_view
        assert datetime.date.fromisoformat(profile(table, "d").minimum) == datetime.date(2024, 3, 9)


GROUPED_CASES = [
    ("REAL", ["1,234.50", "999.5", "12,345,678", 7], [1234.5, 999.5, 12345678.0, 7.0]),
    ("REAL", ["1.234,50", "999,5", "12.345.678", 7], [1234.5, 999.5, 12345678.0, 7.0]),
    ("NUMERIC", ["0,75", "1,5", 2, "3,25"], [0.75, 1.5, 2.0, 3.25]),
    ("REAL", ["1 234,5", "12,25", 3, "1 000"], [1234.5, 12.25, 3.0, 1000.0]),
    ("REAL", [1.5, 2.5, 3.25, "1,234.50"], [1.5, 2.5, 3.25, 1234.5]),
    ("INTEGER", ["1,234", "5,678", 12, "3,000"], [1234.0, 5678.0, 12.0, 3000.0]),
    ("TEXT", ["1,234.50", "999.50", "12,345.00", "7"], [1234.5, 999.5, 12345.0, 7.0]),
    ("", ["1,234.50", "999.50", "12,345.00", "7"], [1234.5, 999.5, 12345.0, 7.0]),
]


@pytest.mark.parametrize(("declared", "stored", "read"), GROUPED_CASES)
def test_numbers_with_thousands_separators_read_as_numbers(declared, stored, read, make, run):
    source = make(f"CREATE TABLE t (v {declared});", {"INSERT INTO t VALUES (?)": [(one,) for one in stored]})
    assert profile(source.catalog.table("t"), "v").found == "number"
    assert profile(source.catalog.table("t"), "v").misfits == 0
    assert run(source, "SELECT v FROM t ORDER BY rowid") == [(one,) for one in read]
    assert run(source, "SELECT sum(v), count(*) FROM t WHERE v > 0") == [(sum(read), 4)]
    assert any(w.startswith("t.v writes numbers such as '") for w in source.catalog.warnings)


UNGROUPED_CASES = [
    ("REAL", ["1,234", "5,678", 12, "3,000"], "may mean thousands or decimals"),
    ("REAL", ["1.234,50", "1,234.5", 12, "3,000.1"], "is no number"),
    ("REAL", ["$1,234.50", "$3", "$4", "$5"], "'$1,234.50' is no number"),
    ("INTEGER", ["a", "b", 10, 9], "'a' is no number"),
    ("TEXT", ["101,202", "303", "101,202,303", "404"], ""),
    ("TEXT", ["1,234.50", "1,234.5", "2", "3"], ""),
    ("TEXT", ["1,234.50", "none", "2,000.00", "3"], ""),
    ("", ["1,2", "3", "1,2,3", "4"], ""),
]


@pytest.mark.parametrize(("declared", "stored", "said"), UNGROUPED_CASES)
def test_numbers_that_could_be_something_else_stay_text(declared, stored, said, make, run):
    source = make(f"CREATE TABLE t (v {declared});", {"INSERT INTO t VALUES (?)": [(one,) for one in stored]})
    assert profile(source.catalog.table("t"), "v").found == "text"
    assert run(source, "SELECT v FROM t WHERE rowid = 1") == [(stored[0],)]
    warnings = [w for w in source.catalog.warnings if w.startswith("t.v is declared")]
    assert len(warnings) == bool(said)
    assert all(said in warning for warning in warnings)


def test_words_in_a_number_column_are_no_thousands(make):
    rows = [(i,) for i in range(40)]
    source = make("CREATE TABLE t (n INTEGER);", {"INSERT INTO t VALUES (?)": [*rows, ("many",)]})
    assert profile(source.catalog.table("t"), "n").found == "integer"
    assert [w for w in source.catalog.warnings if "writes numbers" in w] == []


EMPTY = "i INTEGER, r REAL, b BOOLEAN, d DATE, m TIMESTAMP, x, s TEXT"


@pytest.mark.parametrize("rows", ["", "INSERT INTO t (i) VALUES (NULL), (NULL);"])
def test_columns_without_values_are_read_as_they_are_declared(rows, make, run):
    source = make(f"CREATE TABLE t ({EMPTY}); {rows}")
    assert {column.profile.found for column in source.catalog.table("t").columns} == {"empty"}
    types = [f"typeof(max({name}))" for name in "irbdmxs"]
    want = [("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR", "VARCHAR")]
    assert run(source, f"SELECT {', '.join(types)} FROM t") == want
