-- The figures of a database for posthorn doctor.
-- name: doctor_counts :one
-- columns: server_version text, organizations bigint, brands bigint, contacts bigint, jobs_open bigint, sends bigint, servers bigint, sends_held bigint
select current_setting('server_version'),
       (select count(*) from organizations), (select count(*) from brands),
       (select greatest(reltuples, 0)::bigint from pg_class where oid = 'contacts'::regclass),
       (select count(*) from jobs where state in ('queued', 'running')),
       (select count(*) from sends where not is_carrier),
       (select count(distinct application_name) from pg_stat_activity
         where datname = current_database() and application_name like 'posthorn serve %'),
       (select count(*) from sends where held_at is not null and status in ('scheduled', 'queued', 'running', 'paused'));
