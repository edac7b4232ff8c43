-- Tenants, each with a database of its own.

-- mark: what the tenant's database carries as a comment, so that no other is ever dropped.
-- drop_at: when the database of a tenant that is being deleted may go.
CREATE TABLE tenants (
    slug text PRIMARY KEY CHECK (slug ~ '^[a-z][a-z0-9_]{0,39}$'),
    name text NOT NULL CHECK (name <> ''),
    database text NOT NULL UNIQUE,
    reference text NOT NULL,
    status text NOT NULL
    CHECK (status IN ('provisioning', 'active', 'deleting', 'failed_cleanup')),
    mark uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    drop_at timestamptz
);
