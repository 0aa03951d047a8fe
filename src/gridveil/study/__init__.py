"""The paper's tables and figures, and ours, as declared studies; and the runner that fills their results. INTERNAL.

Studies compare releases with the truth: what they write is for those who hold the original networks.
"""
