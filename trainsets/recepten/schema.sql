CREATE TABLE koks (
  id INTEGER PRIMARY KEY,
  naam TEXT NOT NULL,
  woonplaats TEXT
);
CREATE TABLE recepten (
  id INTEGER PRIMARY KEY,
  titel TEXT NOT NULL,
  kok_id INTEGER NOT NULL REFERENCES koks (id),
  rubriek TEXT,
  keuken TEXT,
  bereidingstijd_min INTEGER,
  personen INTEGER,
  moeilijkheid TEXT CHECK (moeilijkheid IN ('makkelijk', 'gemiddeld', 'moeilijk')),
  geplaatst_op TEXT,
  kcal INTEGER,
  vegetarisch TEXT CHECK (vegetarisch IN ('ja', 'nee')),
  bereiding TEXT
);
CREATE TABLE ingredienten (
  recept_id INTEGER NOT NULL REFERENCES recepten (id),
  ingredient TEXT NOT NULL,
  hoeveelheid REAL,
  eenheid TEXT,
  PRIMARY KEY (recept_id, ingredient)
);
