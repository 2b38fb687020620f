"""An input for each of the small models."""

INPUTS = {
    "names": "Ana Chen left Acme Labs in Oslo .",
    "rna": "GGGGAAAACCCCUUGGCGAAAGCCAA",
    "trees": "the man saw the bird with a telescope",
    "dna": ["GATTACAGAT", "GATACAGT"],
    "greek": "ποταμος",
    "animals": "fur legs=4 milk",
}
