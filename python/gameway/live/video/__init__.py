"""Videos over HTTP in live runs: a real ladder, a real server, dash.js in a real browser."""
