import { installSteps } from '../install/install-commands.ts';
import { NEEDS_SERVICECTL, tokenPipe } from './command-script.ts';

export interface InstallLink {
  readonly slug: string;
  readonly crdsUrl: string;
  readonly operatorUrl: string;
  readonly expiresAt: string;
}

/** A script that a shell runs as it is. The token goes from one program to the other and is seen by nobody. */
export function installScript(link: InstallLink): string {
  const lines = installSteps(link).map(
    ({ title, command }) => `# ${title}\n${tokenPipe(link.slug, command)}${command}\n`,
  );
  const title = `# Installs the operator of cluster ${link.slug}. The links work until ${link.expiresAt}.\n`;
  return `${title}${NEEDS_SERVICECTL}\n${lines.join('')}`;
}
