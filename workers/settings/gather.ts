import { eachSetting, type SettingName } from './settings.ts';

/** The settings that are given, as text, and where each is from: a flag or a variable. */
export type Given = ReadonlyMap<SettingName, { text: string; from: string }>;

/**
 * Gathers settings: a flag counts for more than a variable, and an empty variable is none. `flags`: values by the flag,
 * such as `--cluster`.
 */
export function gatherSettings(env: NodeJS.ProcessEnv, flags: ReadonlyMap<string, string> = new Map()): Given {
  const given = new Map<SettingName, { text: string; from: string }>();
  for (const [name, { variable, flag }] of eachSetting()) {
    const ofFlag = flag === undefined ? undefined : flags.get(flag);
    const ofVariable = env[variable];
    if (ofFlag !== undefined) given.set(name, { text: ofFlag, from: flag! });
    else if (ofVariable) given.set(name, { text: ofVariable, from: variable });
  }
  return given;
}
