/** A variable that is unknown, malformed or not supported. The message is one line that says which and why. */
export class ConfigError extends Error {
  constructor(variable: string, why: string) {
    super(`${variable}: ${why}`);
    this.name = 'ConfigError';
  }
}
