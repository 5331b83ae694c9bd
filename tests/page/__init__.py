"""Tests of the page's pure modules, under Node's own test runner."""
