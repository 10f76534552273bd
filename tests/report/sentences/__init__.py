"""The rules of check_sentences.py: what makes a sentence of a report true."""
