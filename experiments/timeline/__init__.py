"""Memory and swap over the time of one inference, program by program under one limit, with the layers marked.

    traces.py     one process each, by a sweep's Session, with samples and marks; the CSVs
    figure.py     the figure, by gnuplot
    report.py     README.md
    __main__.py   the command line, experiments/timeline.sh
"""
