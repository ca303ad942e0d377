CREATE TABLE salas (
  id INTEGER PRIMARY KEY,
  nombre TEXT NOT NULL,
  planta INTEGER,
  aforo INTEGER
);
CREATE TABLE piezas (
  num_inventario TEXT PRIMARY KEY,
  titulo TEXT NOT NULL,
  artista TEXT,
  tipo TEXT,
  material TEXT,
  "año" INTEGER,
  fecha_adquisicion TEXT,
  sala_id INTEGER REFERENCES salas (id),
  valor_seguro REAL,
  alto_cm REAL,
  en_exposicion INTEGER CHECK (en_exposicion IN (0, 1)),
  descripcion TEXT,
  notas_conservacion TEXT
);
CREATE TABLE prestamos (
  num_inventario TEXT NOT NULL REFERENCES piezas (num_inventario),
  institucion TEXT NOT NULL,
  desde TEXT NOT NULL,
  hasta TEXT,
  pais TEXT,
  PRIMARY KEY (num_inventario, desde)
);
