import { readSettingsFile } from './settings-file.ts';
import { settingsPath } from './settings-path.ts';
import { eachSetting, type SettingName } from './settings.ts';

/** Settings as a process gets them. */
export interface Gathered {
  /** The environment, and what the settings file says of variables that are not set. */
  env: NodeJS.ProcessEnv;
  /** The settings that have a value, as text, and where that is from: a flag, a variable, or a line of the file. */
  given: ReadonlyMap<SettingName, { text: string; from: string }>;
  /** The settings file; undefined without one. */
  path: string | undefined;
}

interface GatherOptions {
  env: NodeJS.ProcessEnv;
  /** Values of flags, by the flag, such as `--cluster`. */
  flags?: ReadonlyMap<string, string>;
  /** The settings file that is asked for; otherwise the first that is found. */
  config?: string | undefined;
}

/**
 * Gathers settings: a flag counts for more than a variable, a variable for more than the settings file, and an empty
 * variable is none. Throws `ManifestErrors` for a settings file that can't be used.
 */
export function gatherSettings({ env, flags = new Map(), config }: GatherOptions): Gathered {
  const path = settingsPath(env, config);
  const said = path === undefined ? undefined : readSettingsFile(path, env['HOME']);
  const given = new Map<SettingName, { text: string; from: string }>();
  const merged = { ...env };
  for (const [name, { variable, flag, yieldsTo = [] }] of eachSetting()) {
    const ofFlag = flag === undefined ? undefined : flags.get(flag);
    const ofVariable = env[variable];
    const ofFile = yieldsTo.some((other) => Boolean(env[other])) ? undefined : said?.get(name);
    if (ofFlag !== undefined) given.set(name, { text: ofFlag, from: flag! });
    else if (ofVariable) given.set(name, { text: ofVariable, from: variable });
    else if (ofFile !== undefined) given.set(name, { text: ofFile.text, from: ofFile.location });
    if (!ofVariable && ofFile !== undefined) merged[variable] = ofFile.text;
  }
  return { env: merged, given, path };
}
