import { Type } from 'typebox';

/** RFC 1123 label. */
export const DNS_LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
export const DNS_LABEL_PATTERN = `^${DNS_LABEL}$`;

/** semver.org's own expression for a version, without a leading `v`. */
export const SEMVER_PATTERN =
  '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$';

export const SLUG_PATTERN = '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$';

/** Chosen by the admin at creation, unique in the organization, never changed; the Git directory is named by it. */
export const Slug = Type.String({
  pattern: SLUG_PATTERN,
  maxLength: 40,
  description: "lower-case letters, digits and '-', at most 40, starting and ending with a letter or digit",
});

/** A Kubernetes namespace. */
export const NamespaceName = Type.String({
  pattern: DNS_LABEL_PATTERN,
  maxLength: 63,
  description:
    "a namespace: lower-case letters, digits and '-', at most 63, starting and ending with a letter or digit (RFC 1123 label)",
});

/** Name of an ApplicationInstance or Operation: a label, and short enough for the Helm release that is named after it. */
export const ObjectName = Type.String({
  pattern: DNS_LABEL_PATTERN,
  maxLength: 53,
  description:
    "a name: lower-case letters, digits and '-', at most 53 (Helm's limit), starting and ending with a letter or digit (RFC 1123 label)",
});

/** Name of a catalog entry or an operation template. */
export const EntryName = Type.String({
  pattern: DNS_LABEL_PATTERN,
  maxLength: 63,
  description: "lower-case letters, digits and '-', at most 63, starting and ending with a letter or digit",
});

/** A chart's version. */
export const SemverVersion = Type.String({
  pattern: SEMVER_PATTERN,
  maxLength: 128,
  description: 'a semantic version such as 6.5.0 or 1.2.3-rc.1, not a range and without a leading v',
});
