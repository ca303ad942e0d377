-- A chain of household shops with a web shop. Amounts are in euros where the name ends in _eur,
-- else in the currency of the order.
CREATE TABLE currencies (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  symbol TEXT
);
CREATE TABLE exchange_rates (
  currency_code TEXT NOT NULL REFERENCES currencies(code),
  month TEXT NOT NULL,              -- the first day of the month
  eur_per_unit REAL NOT NULL,       -- euros for one unit of the currency
  PRIMARY KEY (currency_code, month)
);
CREATE TABLE stores (
  store_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  city TEXT,                        -- null: the web shop
  country TEXT,
  opened_on TEXT NOT NULL,
  closed_on TEXT,
  floor_area_m2 INTEGER
);
CREATE TABLE employees (
  employee_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  job_title TEXT NOT NULL,
  store_id INTEGER REFERENCES stores(store_id),          -- null: head office
  manager_id INTEGER REFERENCES employees(employee_id),
  hired_on TEXT NOT NULL,
  left_on TEXT,
  salary_eur INTEGER,
  notes TEXT
);
CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  email TEXT,
  birth_date TEXT,
  segment TEXT NOT NULL,            -- private, business, trade
  signed_up_on TEXT NOT NULL,
  billing_city TEXT NOT NULL,
  billing_country TEXT NOT NULL,
  shipping_city TEXT,               -- null: collects in the shop
  shipping_country TEXT,
  referred_by INTEGER REFERENCES customers(customer_id),
  newsletter INTEGER NOT NULL
);
CREATE TABLE categories (
  category_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  parent_id INTEGER REFERENCES categories(category_id)
);
CREATE TABLE suppliers (
  supplier_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  country TEXT NOT NULL
);
CREATE TABLE products (
  product_id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  category_id INTEGER NOT NULL REFERENCES categories(category_id),
  supplier_id INTEGER REFERENCES suppliers(supplier_id),
  brand TEXT,
  list_price_eur REAL NOT NULL,
  cost_eur REAL,
  weight_kg REAL,
  launched_on TEXT NOT NULL,
  discontinued_on TEXT,
  description TEXT NOT NULL
);
CREATE TABLE orders (
  order_id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers(customer_id),
  store_id INTEGER NOT NULL REFERENCES stores(store_id),
  employee_id INTEGER REFERENCES employees(employee_id), -- null: sold by the web shop
  ordered_at TEXT NOT NULL,
  status TEXT NOT NULL,             -- delivered, shipped, pending, cancelled
  currency_code TEXT NOT NULL REFERENCES currencies(code),
  coupon_code TEXT,
  shipping_fee REAL,                -- null: collected
  shipped_on TEXT,
  delivered_on TEXT,
  total_eur REAL NOT NULL           -- its lines, without the shipping fee
);
CREATE TABLE order_lines (
  line_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES orders(order_id),
  product_id INTEGER NOT NULL REFERENCES products(product_id),
  quantity INTEGER NOT NULL,
  unit_price REAL NOT NULL,         -- in the order's currency, before the discount
  discount_percent INTEGER,         -- null: none
  amount_eur REAL NOT NULL          -- what was charged for the line, in euros
);
CREATE TABLE returns (
  return_id INTEGER PRIMARY KEY,
  line_id INTEGER NOT NULL REFERENCES order_lines(line_id),
  returned_on TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  reason TEXT,                      -- null: not given
  refund_amount REAL,               -- in the order's currency; null: no refund yet
  comment TEXT
);
CREATE INDEX order_lines_of_order ON order_lines(order_id);
CREATE INDEX returns_of_line ON returns(line_id);
