import { describe, expect, test } from 'vitest';
import { configOf, readConfig } from '../../../workers/config.ts';
import { gatherSettings } from '../../../workers/settings/gather.ts';
import { settingsInForce } from '../../../workers/settings/in-force.ts';
import type { Setting } from '../../../workers/settings/setting.ts';
import { eachSetting } from '../../../workers/settings/settings.ts';

/** Values that a setting may have: its own by a flag, and by a variable. */
function valuesOf({ within, oneOf, isList, like }: Setting): readonly string[] {
  if (within !== undefined) return [1, 2].map((more) => String(within[0] + more));
  if (oneOf !== undefined) return oneOf;
  if (like?.pattern.test('cluster') === true && isList === true && !like.pattern.test('a')) return ['0,1', 'cluster'];
  if (isList === true) return like?.pattern.test('a') === false ? ['https://a,https://b', 'https://c'] : ['a,b', 'c'];
  return ['one', 'two'];
}

describe('a flag counts for more than a variable, a variable for more than the default', () => {
  test.each(eachSetting())('%s', (name, setting) => {
    const [ofFlag, ofVariable] = valuesOf(setting) as [string, string];
    const inForce = (env: NodeJS.ProcessEnv, flag?: string): object => {
      const flags = new Map(flag === undefined ? [] : [[setting.flag!, flag] as const]);
      return settingsInForce(gatherSettings(env, flags), (one) => one === name)[0]!;
    };
    const env = { [setting.variable]: ofVariable };
    if (setting.flag !== undefined)
      expect(inForce(env, ofFlag)).toEqual({ setting: name, value: ofFlag, from: setting.flag });
    expect(inForce(env)).toEqual({ setting: name, value: ofVariable, from: setting.variable });
    const byDefault = { setting: name, value: setting.value, from: 'default' };
    expect(inForce({ [setting.variable]: '' })).toEqual(byDefault);
    expect(inForce({})).toEqual(byDefault);
  });
});

test('a flag that cannot be used is named', () => {
  const given = gatherSettings({}, new Map([['--burst', 'many']]));
  expect(() => configOf(given)).toThrow('--burst=many: must be a whole number from 1 to 1000');
});

test.each([
  ['https://ada:hid/den@ui', 'https://(secret)@ui'],
  ['https://ui?key=hidden', 'https://ui?(secret)'],
  ['https://ui/namespaces', 'https://ui/namespaces'],
])('a worker shows TEMPORAL_UI=%s as %s', (value, shown) => {
  const { settings } = readConfig({ TEMPORAL_UI: value });
  expect(settings.find(({ from }) => from === 'TEMPORAL_UI')?.value).toBe(shown);
});
