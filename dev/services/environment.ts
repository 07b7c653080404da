/** Returns lines for a POSIX shell that export the variables. Values may contain any character. */
export const exportLines = (env: Record<string, string>): string =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`)
    .join('');

/** Returns the environment without settings for another Temporal: its address, key, TLS, profile. */
export const environmentWithoutTemporal = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));

/** Returns a Temporal configuration file with one profile. It replaces the user's, which may be for another server. */
export const temporalConfig = (address: string): string =>
  `[profile.default]\naddress = ${JSON.stringify(address)}\nnamespace = "default"\n`;
