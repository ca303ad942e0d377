CREATE TABLE agentes (
  id INTEGER PRIMARY KEY,
  nombre TEXT NOT NULL,
  oficina TEXT,
  desde TEXT
);
CREATE TABLE viviendas (
  ref TEXT PRIMARY KEY,
  titulo TEXT NOT NULL,
  municipio TEXT NOT NULL,
  tipo TEXT NOT NULL,
  precio INTEGER,
  habitaciones INTEGER,
  banos INTEGER,
  metros INTEGER,
  "año_construcción" INTEGER,
  publicado TEXT NOT NULL,
  vendido_el TEXT,
  agente_id INTEGER REFERENCES agentes (id),
  "certificado energético" TEXT,
  descripcion TEXT
);
CREATE TABLE visitas (
  ref TEXT NOT NULL REFERENCES viviendas (ref),
  fecha TEXT NOT NULL,
  interesado TEXT NOT NULL,
  comentario TEXT,
  PRIMARY KEY (ref, fecha, interesado)
);
