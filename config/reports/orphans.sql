/*
title: Rows that name something that is not here
empty: Every row that is named is here.
*/
SELECT entity, key, why
FROM v_orphan
ORDER BY entity, key, why;
