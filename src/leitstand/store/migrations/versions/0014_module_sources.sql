-- Where modules show their metrics; NULL: they show none.

ALTER TABLE modules ADD COLUMN metrics_url text CHECK (metrics_url <> '');
