-- Silences that hold at some times of the week only, as their time zone's clocks show them.

-- Days, from, to and timezone as a weekly maintenance window has them; NULL: it holds all the time.
ALTER TABLE alert_silences ADD COLUMN weekly jsonb;
