/** `README.md` of a cluster's directory: for the person who comes across it in review. Plain data, so no slug can forge markup. */
export function clusterReadme(slug: string): string {
  return `# Cluster ${slug}

What shall run on this cluster. The control plane writes this directory, one commit for each intent; the operator in the
cluster reads it.

- \`apps/<namespace>/<name>.yaml\`: installed applications
- \`operations/<namespace>/<name>.yaml\`: operations that were asked for
- \`tombstones/<namespace>/<name>.json\`: what was uninstalled. Kept for 90 days.

To review: \`git log -p -- .\` in this directory. Each commit names its intent, who asked for it, and why.

Do not edit by hand: an edit is overwritten by the next intent for the same object. To uninstall something ask the control
plane. A file that is merely removed uninstalls nothing, unless this cluster was set to prune (git.pruneOnRemoval): then
the operator deletes the application with its release.
`;
}
