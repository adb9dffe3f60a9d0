/** Reasons of a `refused` receipt in every mode. Each is final: the same intent would be refused again. */

/** A newer generation of the object is there already, and this intent was never delivered. */
export const SUPERSEDED = 'Superseded';
/** The manifest is larger than 512 KiB, or than the API server stores. */
export const MANIFEST_TOO_LARGE = 'ManifestTooLarge';
