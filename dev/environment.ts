/** For a POSIX shell to read, whatever the values hold. */
export const exportLines = (env: Record<string, string>): string =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`)
    .join('');

/** An environment without what may be set there for another Temporal: its address, key, TLS, profile. */
export const withoutTemporalSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));

/** Temporal's own configuration file, with one profile: instead of the user's, which may be for another server. */
export const temporalConfig = (address: string): string =>
  `[profile.default]\naddress = ${JSON.stringify(address)}\nnamespace = "default"\n`;
