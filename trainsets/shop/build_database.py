"""Builds the shop database: `python build_database.py OUT`, the same content each time, in some seconds.

Three years of orders (2021 to 2023) of a chain of household shops. What is sold, by whom and to whom is put
together from vocabulary.toml. Leaves out everything a question cannot ask about: streets, payments, stock.
"""

from __future__ import annotations

import sqlite3
import sys
import tomllib
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, TypeVar

SEED = 20231231
ORDERS = 88_000
CUSTOMERS = 2_600
FIRST, LAST = date(2021, 1, 1), date(2023, 12, 31)
MONTHS = [date(year, month, 1) for year in (2021, 2022, 2023) for month in range(1, 13)]
BUSY = (0.8, 0.7, 0.85, 1.0, 1.1, 1.0, 0.85, 0.8, 0.95, 1.05, 1.45, 1.6)
"""How much is sold in each month of the year, beside the average."""
RETURNED = {"Rugs": 0.11, "Lamps": 0.08, "Coffee makers": 0.075, "Cushions": 0.06, "Towels": 0.025}
"""Share of lines that come back, by category; 0.045 for the rest."""

Row = tuple[Any, ...]
T = TypeVar("T")


def weighted(items: Sequence[T], weights: Iterable[float]) -> Callable[[Random], T]:
    """Draws an item, each as often as its weight says."""
    sums = list(accumulate(weights))
    return lambda random: items[min(bisect(sums, random.random() * sums[-1]), len(items) - 1)]


def between(random: Random, first: date, last: date) -> date:
    """A day, both ends included."""
    return first + timedelta(days=int(random.random() * ((last - first).days + 1)))


class Shop:
    """The rows of all tables but orders, lines and returns, which `sales` yields."""

    def __init__(self, words: dict[str, Any], random: Random) -> None:
        self.words, self.random = words, random
        self.rates = dict(self._rates())
        self.stores = [
            (n, name, city or None, country or None, opened, closed or None, area or None)
            for n, (name, (city, country, opened, closed, area)) in enumerate(words["stores"].items(), 1)
        ]
        self.employees = list(self._employees())
        self.customers = list(self._customers())
        self.categories, self.products = self._products()

    def _rates(self) -> Iterator[tuple[tuple[str, str], float]]:
        for code, (_, _, start) in self.words["currencies"].items():
            rate = start
            for month in MONTHS:
                yield (code, month.isoformat()), round(rate, 4)
                rate *= 1.0 if code == "EUR" else 0.988 + 0.024 * self.random.random()

    def _names(self) -> Iterator[str]:
        first, last = (self.words["people"][part].split() for part in ("first", "last"))
        pairs = [f"{a} {b}" for a in first for b in last]
        self.random.shuffle(pairs)
        yield from pairs

    def _employees(self) -> Iterator[Row]:
        random, names = self.random, self._names()
        number = 0

        def hire(
            title: str, store: int | None, manager: int | None, pay: int, opened: str, closed: str | None
        ) -> Row:
            nonlocal number
            number += 1
            hired = between(random, date.fromisoformat(opened), date(2023, 9, 30))
            left = closed
            if title == "sales assistant" and random.random() < 0.2:
                left = min(between(random, hired, date(2023, 12, 31)).isoformat(), closed or "9999")
            if closed and hired.isoformat() >= closed:
                hired = date.fromisoformat(opened)
            salary = None if random.random() < 0.05 else pay + int(random.random() * pay * 0.4)
            notes = random.choice(self.words["notes"]["lines"]) if random.random() < 0.35 else None
            return number, next(names), title, store, manager, hired.isoformat(), left, salary, notes

        yield hire("director", None, None, 112_000, "2009-01-05", None)
        areas = [hire("area manager", None, 1, 68_000, "2012-01-09", None) for _ in range(4)]
        yield from areas
        self.staff: dict[int, list[Row]] = {}
        for place, *_, opened, closed, _area in self.stores[:-1]:
            boss = hire("store manager", place, areas[place % 4][0], 41_000, opened, closed)
            team = [
                hire(title, place, boss[0], pay, opened, closed)
                for title, pay in [("stock keeper", 27_000), *[("sales assistant", 25_500)] * (3 + place % 4)]
            ]
            self.staff[place] = team
            yield from (boss, *team)
        yield hire("web editor", len(self.stores), areas[0][0], 38_000, "2014-03-03", None)

    def _customers(self) -> Iterator[Row]:
        random, cities = self.random, self.words["cities"]
        weights = self.words["country"]["weights"]
        country_of = weighted(list(weights), weights.values())
        staff = {row[1] for row in self.employees}
        names = (name for name in self._names() if name not in staff)
        segment_of = weighted(["private", "business", "trade"], [86, 10, 4])
        for number, day in enumerate(
            sorted(between(random, date(2018, 2, 1), date(2023, 12, 20)) for _ in range(CUSTOMERS)), 1
        ):
            segment, name, country = segment_of(random), next(names), country_of(random)
            if segment != "private":
                name = f"{name.split()[-1]} {random.choice(('Catering', 'Interieur', 'Hotel', 'Hosteleria'))} {number}"
            city = random.choice(cities[country])
            there = None if random.random() < 0.08 else (city, country)
            if there and random.random() < 0.17:
                away = country if random.random() < 0.5 else country_of(random)
                there = (random.choice(cities[away]), away)
            born = between(random, date(1944, 1, 1), date(2004, 12, 31)).isoformat()
            yield (
                number, name,
                None if random.random() < 0.06 else name.lower().replace(" ", ".").replace("ó", "o") + "@example.org",
                born if segment == "private" and random.random() < 0.8 else None,
                segment, day.isoformat(), city, country, *(there or (None, None)),
                1 + int(random.random() * (number - 1)) if number > 20 and random.random() < 0.14 else None,
                int(random.random() < 0.41),
            )  # fmt: skip

    def _products(self) -> tuple[list[Row], list[Row]]:
        random = self.random
        categories: list[Row] = []
        products: list[Row] = []
        colours, sizes = self.words["adjectives"]["colours"], self.words["adjectives"]["sizes"]
        self.category_of: dict[int, str] = {}
        self.features: dict[int, list[str]] = {}
        for top, parts in self.words["categories"].items():
            categories.append((len(categories) + 1, top, None))
            parent = len(categories)
            for name, part in parts.items():
                categories.append((len(categories) + 1, name, parent))
                self.features[len(categories)] = part["features"]
                for line in part["nouns"]:
                    noun, _, figures = line.partition(": ")
                    price, weight = map(float, figures.split(", "))
                    looks = [f"{size} {noun}, {colour}" for size in sizes for colour in colours]
                    random.shuffle(looks)
                    for look in looks[: 5 + int(random.random() * 4)]:
                        products.append(
                            self._product(len(products) + 1, look, len(categories), price, weight)
                        )
                        self.category_of[len(products)] = name
        return categories, products

    def _product(self, number: int, look: str, category: int, price: float, weight: float) -> Row:
        random = self.random
        factor = (1.35 if "large" in look or "deep" in look else 1.0) * (0.9 + 0.3 * random.random())
        cost = None if random.random() < 0.07 else round(price * factor * (0.35 + 0.25 * random.random()), 2)
        launched = between(random, date(2017, 3, 1), date(2023, 6, 30))
        ended = between(random, max(launched, date(2022, 1, 1)), LAST) if random.random() < 0.13 else None
        supplier = None if random.random() < 0.05 else 1 + int(random.random() * len(self.words["suppliers"]))
        brand = None if random.random() < 0.12 else random.choice(self.words["brands"]["names"])
        told = " ".join(random.sample(self.features[category], 2))
        sku, name = f"{look.split()[1][:2].upper()}-{1000 + number}", look[0].upper() + look[1:]
        heavy = None if random.random() < 0.09 else round(weight * factor, 2)
        return (
            number, sku, name, category, supplier, brand, round(price * factor) - 0.05, cost, heavy,
            launched.isoformat(), ended.isoformat() if ended else None,
            f"A {look.replace(',', ' in')}. {told}",
        )  # fmt: skip

    def sales(self) -> Iterator[tuple[Row, list[Row], list[Row]]]:
        """Each order with its lines and their returns, in the order of time."""
        random = self.random
        buyers = weighted(
            self.customers,
            [(1 / (0.02 + random.random())) * (random.random() > 0.06) for _ in self.customers],
        )
        sold = [0.15 + 1 / (0.08 + random.random()) if random.random() > 0.02 else 0.0 for _ in self.products]
        liked = weighted(self.products, sold)
        months = weighted(MONTHS, [BUSY[m.month - 1] * (1 + 0.16 * (m.year - 2021)) for m in MONTHS])
        days = []
        for _ in range(ORDERS):
            month = months(random)
            days.append(
                month
                + timedelta(
                    days=int(random.random() * ((month + timedelta(days=32)).replace(day=1) - month).days)
                )
            )
        line, back = 0, 0
        for number, day in enumerate(sorted(days), 1):
            buyer = next(c for c in iter(lambda: buyers(random), None) if c[5] <= day.isoformat())
            lines: list[Row] = []
            returns: list[Row] = []
            head = self._head(number, day, buyer)
            rate = self.rates[head[6], f"{day:%Y-%m}-01"]
            for _ in range(1 + int(random.random() ** 1.7 * 5)):
                product = next(
                    p for p in iter(lambda: liked(random), None)
                    if p[9] <= day.isoformat() and (p[10] is None or p[10] > day.isoformat())
                )  # fmt: skip
                line += 1
                amount = 1 + int(random.random() ** 3 * (12 if buyer[4] == "trade" else 4))
                price = round(product[6] * (1 + 0.03 * (day.year - 2023)) / rate, 2)
                discount = random.choice((5, 10, 15, 25)) if random.random() < 0.18 else None
                charged = price * amount * (1 - (discount or 0) / 100)
                lines.append((line, number, product[0], amount, price, discount, round(charged * rate, 2)))
                share = RETURNED.get(self.category_of[product[0]], 0.045)
                if head[5] == "delivered" and random.random() < share:
                    back += 1
                    returns.append(self._return(back, line, head, amount, charged / amount))
            yield (
                (*head, round(sum(each[6] for each in lines), 2)),
                lines,
                [r for r in returns if r[2] <= "2023-12-31"],
            )

    def _head(self, number: int, day: date, buyer: Row) -> Row:
        random, currency = self.random, self.words["country"]["currency"]
        today = day.isoformat()
        near = [
            s
            for s in self.stores[:-1]
            if s[3] == buyer[7] and s[4] <= today and (s[5] is None or s[5] > today)
        ]
        store = random.choice(near) if near and random.random() < 0.62 else self.stores[-1]
        seller, fee, shipped, delivered = None, None, None, None
        status = "cancelled" if random.random() < 0.03 else "delivered"
        if store[3]:
            there = [e for e in self.staff[store[0]] if e[5] <= today and (e[6] is None or e[6] > today)]
            seller = random.choice(there)[0] if there and random.random() < 0.96 else None
            delivered = day if status == "delivered" else None
        else:
            fee = random.choice((0.0, 3.95, 5.95, 9.5))
            if status != "cancelled":
                shipped = day + timedelta(days=int(random.random() * 4))
                delivered = shipped + timedelta(days=1 + int(random.random() ** 2 * 9))
                if delivered > LAST:
                    delivered, status = None, "shipped"
                if shipped > LAST:
                    shipped, status = None, "pending"
        coupon = (
            random.choice(("WELCOME10", "SPRING", "BLACKWEEK", "FRIENDS")) if random.random() < 0.07 else None
        )
        seconds = int((9 + 11 * random.random()) * 3600)
        return (
            number, buyer[0], store[0], seller,
            f"{today} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}", status,
            currency.get(store[3] or buyer[7], "EUR"), coupon, fee,
            *(d.isoformat() if d else None for d in (shipped, delivered)),
        )  # fmt: skip

    def _return(self, number: int, line: int, head: Row, bought: int, paid: float) -> Row:
        random = self.random
        came = date.fromisoformat(head[10]) + timedelta(days=2 + int(random.random() * 27))
        amount = 1 + int(random.random() * bought)
        reason = random.choice(list(self.words["returns"]))
        comment = random.choice(self.words["returns"][reason]) if random.random() < 0.25 else None
        refund = None if random.random() < 0.09 else round(paid * amount, 2)
        return (
            number,
            line,
            came.isoformat(),
            amount,
            None if random.random() < 0.12 else reason,
            refund,
            comment,
        )


def main() -> None:
    here = Path(__file__).parent
    shop = Shop(tomllib.loads((here / "vocabulary.toml").read_text(encoding="utf-8")), Random(SEED))
    with closing(sqlite3.connect(sys.argv[1])) as connection:
        connection.executescript((here / "schema.sql").read_text(encoding="utf-8"))

        def fill(table: str, rows: Sequence[Row]) -> None:
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

        words = shop.words
        fill("currencies", [(code, name, symbol) for code, (name, symbol, _) in words["currencies"].items()])
        fill("exchange_rates", [(*key, rate) for key, rate in shop.rates.items()])
        fill("suppliers", [(n, *pair) for n, pair in enumerate(words["suppliers"].items(), 1)])
        for table in ("stores", "employees", "customers", "categories", "products"):
            fill(table, getattr(shop, table))
        for order, lines, returns in shop.sales():
            fill("orders", [order])
            fill("order_lines", lines)
            fill("returns", returns)
        connection.commit()


if __name__ == "__main__":
    main()
