"""Do the verdict's statistics keep their error rates, under equal and unequal noise?"""
