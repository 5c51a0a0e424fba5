"""Commands as a source of data: run them and measure how long they take."""
