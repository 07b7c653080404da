import type { Given } from './gather.ts';
import { masked } from './masked.ts';
import { faultOf } from './schema.ts';
import { eachSetting, type SettingName } from './settings.ts';

/** The value of a setting as text, and where it is from; undefined if it has none. */
export interface InForce {
  setting: SettingName;
  value: string | undefined;
  from: string;
}

/** Thrown for an invalid setting; the message names it and says what would be valid. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Returns all settings in force, given or by default. Throws `ConfigError` with what is wrong with those given. */
export function settingsInForce(given: Given, isWanted: (name: SettingName) => boolean): InForce[] {
  const wanted = eachSetting().filter(([name]) => isWanted(name));
  const faults = wanted.flatMap(([name]) => {
    const { text, from } = given.get(name) ?? {};
    if (text === undefined) return [];
    const fault = faultOf(name, text);
    return fault === undefined ? [] : [`${from}=${masked(text)}: ${fault}`];
  });
  if (faults.length > 0) throw new ConfigError(faults.join('; '));
  return wanted.map(([setting, { value }]) => {
    const { text = value, from = 'default' } = given.get(setting) ?? {};
    return { setting, value: text, from };
  });
}
