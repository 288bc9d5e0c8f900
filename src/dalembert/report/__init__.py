"""Pictures and tables made of results; matplotlib is imported when a picture is drawn."""
