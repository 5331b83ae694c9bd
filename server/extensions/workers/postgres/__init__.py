"""Storage in a Postgres database that several workers share. Imported where a setting names one."""
