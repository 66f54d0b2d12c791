-- What the doctor tells of a database.
-- name: doctor_counts :one
-- columns: server_version text, organizations bigint, brands bigint, contacts bigint, jobs_open bigint, sends bigint
select current_setting('server_version'),
       (select count(*) from organizations), (select count(*) from brands),
       (select greatest(reltuples, 0)::bigint from pg_class where oid = 'contacts'::regclass),
       (select count(*) from jobs where state in ('queued', 'running')),
       (select count(*) from sends);
