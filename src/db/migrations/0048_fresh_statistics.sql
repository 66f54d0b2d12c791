-- The statistics of these tables know a new brand after a few thousand of its rows. By default PostgreSQL analyzes a table when a tenth of
-- it has changed: in a large table a new brand of 100,000 contacts stays unknown. The planner takes such a brand for empty, and compares
-- all of its rows with all rows of its cohort.
alter table contacts set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
alter table suppressions set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
alter table audience_members set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
alter table contact_activity set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
alter table contact_validations set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
alter table automation_runs set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
