import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { configOf } from '../../../workers/config.ts';
import { gatherSettings } from '../../../workers/settings/gather.ts';
import { settingsInForce } from '../../../workers/settings/in-force.ts';
import type { Setting } from '../../../workers/settings/setting.ts';
import { settingsPath } from '../../../workers/settings/settings-path.ts';
import { eachSetting } from '../../../workers/settings/settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'drover-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(text: string, file = 'config.yaml'): string {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Values that a setting may have: its own by a flag, by a variable and in the file. */
function valuesOf({ within, oneOf, isList, isPath, like }: Setting): string[] {
  if (within !== undefined) return [1, 2, 3].map((more) => String(within[0] + more));
  if (oneOf !== undefined) return oneOf.slice(0, 3);
  const lists = ['a,b', 'c', 'd,e'];
  const urls = ['https://a,https://b', 'https://c', 'https://d'];
  if (isList === true) return like?.pattern.test('a') === false ? urls : lists;
  return ['one', 'two', 'three'].map((value) => (isPath === true ? `/${value}` : value));
}

const nested = (name: string, value: unknown): object =>
  name.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as object;
const inFile = ({ within, isList }: Setting, text: string): unknown => {
  if (isList === true) return text.split(',');
  return within === undefined ? text : Number(text);
};

describe('a flag counts for more than a variable, a variable for more than the file, the file for more than the default', () => {
  test.each(eachSetting())('%s', (name, setting) => {
    const [ofFlag, ofVariable, ofFile] = valuesOf(setting) as [string, string, string];
    const config = written(stringify(nested(name, inFile(setting, ofFile))));
    const line = name.split('.').length;
    const inForce = (env: NodeJS.ProcessEnv, given: { flag?: string; config?: string }): object => {
      const flags = new Map(given.flag === undefined ? [] : [[setting.flag!, given.flag] as const]);
      const gathered = gatherSettings({ env, flags, config: given.config });
      return settingsInForce(gathered).find((one) => one.setting === name)!;
    };
    const env = { [setting.variable]: ofVariable };
    if (setting.flag !== undefined)
      expect(inForce(env, { config, flag: ofFlag })).toEqual({ setting: name, value: ofFlag, from: setting.flag });
    expect(inForce(env, { config })).toEqual({ setting: name, value: ofVariable, from: setting.variable });
    expect(inForce({ [setting.variable]: '' }, { config })).toEqual({
      setting: name,
      value: ofFile,
      from: `${config}:${line}`,
    });
    expect(inForce({}, {})).toEqual({ setting: name, value: setting.value, from: 'default' });
  });
});

test('the settings of the file are put into variables that are not set', () => {
  const config = written('kubeconfig: ~/kubeconfig\ntemporal: { address: "temporal:7233", namespace: vms }\n');
  const env = { HOME: '/home/ada', TEMPORAL_NAMESPACE: 'others' };
  expect(gatherSettings({ env, config }).env).toEqual({
    ...env,
    KUBECONFIG: '/home/ada/kubeconfig',
    TEMPORAL_ADDRESS: 'temporal:7233',
  });
});

test('paths are relative to the folder of the file', () => {
  const config = written('dataConverter: ./codec.js\n', 'below/config.yaml');
  expect(configOf(gatherSettings({ env: {}, config })).dataConverter).toBe(join(folder, 'below', 'codec.js'));
});

test.each(['TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'])(
  "the file's settings of Temporal do not count beside Temporal's own %s",
  (variable) => {
    const config = written('temporal: { address: "temporal:7233" }\n');
    expect(gatherSettings({ env: { [variable]: 'prod' }, config }).env).toEqual({ [variable]: 'prod' });
  },
);

test('the context of the file is of its kubeconfig, not of that of a variable', () => {
  const config = written('kubeconfig: /one\ncontext: prod\n');
  expect(gatherSettings({ env: {}, config }).env).toEqual({ KUBECONFIG: '/one', DROVER_CONTEXT: 'prod' });
  expect(gatherSettings({ env: { KUBECONFIG: '/two' }, config }).env).toEqual({ KUBECONFIG: '/two' });
});

test("the file is that of the flag, of DROVER_CONFIG, or the user's own", () => {
  const own = written('', 'home/.config/drover/config.yaml');
  const xdg = written('', 'xdg/drover/config.yaml');
  const HOME = join(folder, 'home');
  expect(settingsPath({ HOME })).toBe(own);
  expect(settingsPath({ HOME, XDG_CONFIG_HOME: join(folder, 'xdg') })).toBe(xdg);
  expect(settingsPath({ HOME, DROVER_CONFIG: '/else' })).toBe('/else');
  expect(settingsPath({ HOME, DROVER_CONFIG: '/else' }, '/given')).toBe('/given');
  expect(settingsPath({})).toBeUndefined();
});

test.each(['', '# nothing yet\n', '{}\n'])('a file without settings says nothing: %j', (text) => {
  const env = { HOME: '/home/ada' };
  expect(gatherSettings({ env, config: written(text) })).toMatchObject({ env, given: new Map() });
});

describe('a file that cannot be used is refused with what would be right, and where', () => {
  test.each([
    ['worker:\n  brust: 3\n', '2: worker.brust: unknown setting; did you mean burst?'],
    ['cluster: east\nburst: 3\n', '2: burst: unknown setting here; it belongs in worker'],
    ['colour: red\n', '1: colour: unknown setting; known are cluster,'],
    ['worker: { burst: 5000 }\n', '1: worker.burst: must be a whole number from 1 to 1000, found 5000'],
    ['worker: { burst: "5" }\n', '1: worker.burst: must be a whole number from 1 to 1000, found the text "5"'],
    ['worker: { logLevel: loud }\n', '1: worker.logLevel: must be one of trace, debug, info, warn and error'],
    ['worker: { namespaces: shop }\n', '1: worker.namespaces: must be a list'],
    ['worker: { namespaces: [Shop] }\n', 'worker.namespaces[0]: must be the names of namespaces, found the text'],
    ['cluster: 7\n', '1: cluster: must be text, found 7: put it in quotes'],
    ['cluster: East\n', '1: cluster: must be at most 63 lower-case letters, digits, "-" and "."'],
    ['worker:\n', '1: worker: is empty: it must be an object'],
    ['cluster: a\ncluster: b\n', '2:1: the key cluster appears twice in one object: keep one of them'],
    ['- cluster\n', '1: must be an object'],
    ['cluster: a\n---\ncluster: b\n', 'must have one document, without ---'],
  ])('%j', (text, sentence) => {
    const config = written(text);
    expect(() => gatherSettings({ env: {}, config })).toThrow(sentence);
    expect(() => gatherSettings({ env: {}, config })).toThrow(`${config}:`);
  });

  test('each fault is a line', () => {
    const config = written('a: 1\nb: 2\n');
    expect(() => gatherSettings({ env: {}, config })).toThrow(/^\S+:1: a: .*\n\S+:2: b: .*$/);
  });

  test('one that is asked for and is not there', () => {
    const config = join(folder, 'none.yaml');
    expect(() => gatherSettings({ env: {}, config })).toThrow(`${config}: settings file not found`);
  });

  test('a folder', () => {
    expect(() => gatherSettings({ env: {}, config: folder })).toThrow(`${folder}: must be a file, found a folder`);
    const binary = join(folder, 'binary');
    writeFileSync(binary, Buffer.from([0x1f, 0x8b]));
    expect(() => gatherSettings({ env: {}, config: binary })).toThrow(`${binary}: can't be read: it is not UTF-8 text`);
  });
});

test('a flag that cannot be used is named', () => {
  const gathered = gatherSettings({ env: {}, flags: new Map([['--burst', 'many']]) });
  expect(() => configOf(gathered)).toThrow('--burst=many: must be a whole number from 1 to 1000');
});
