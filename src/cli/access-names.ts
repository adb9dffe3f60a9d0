import { InvalidArgumentError, Option } from 'commander';

/** As the control plane knows them: the command line imports nothing of it. */
const ACCESS_ROLES = ['viewer', 'deployer', 'approver', 'admin'];
const SCOPES = ['read', 'deploy', 'approve', 'clusters', 'catalog', 'repositories', 'organization'];

export const ACCESS_TEXT = ACCESS_ROLES.join(', ');

export function accessOption(what: string): Option {
  return new Option('--access <access>', `${what}: ${ACCESS_TEXT}; several with commas`).argParser(among(ACCESS_ROLES));
}

export function scopeOption(what: string): Option {
  return new Option('--scope <scope>', `${what}: ${SCOPES.join(', ')}; several with commas`).argParser(among(SCOPES));
}

/** With commas, or given more than once. */
export function listed(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...value.split(',')];
}

function among(names: readonly string[]): typeof listed {
  return (value, before) => {
    const wrong = value.split(',').find((name) => !names.includes(name));
    if (wrong !== undefined) throw new InvalidArgumentError(`'${wrong}' is none of ${names.join(', ')}.`);
    return listed(value, before);
  };
}
