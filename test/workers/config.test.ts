import { describe, expect, test } from 'vitest';
import { readConfig } from '../../workers/config.ts';

test('a missing or empty variable has its default', () => {
  const defaults = { cluster: 'default', burst: 250, concurrency: 32, connections: 64, health: null, logLevel: 'info' };
  expect(readConfig({})).toMatchObject(defaults);
  expect(readConfig({ DROVER_BURST: '', DROVER_HEALTH_PORT: '', LOG_LEVEL: '' })).toMatchObject(defaults);
});

test('several namespaces are a list, each once', () => {
  expect(readConfig({}).namespaces).toBeUndefined();
  expect(readConfig({ DROVER_NAMESPACE: 'shop' }).namespaces).toEqual(['shop']);
  expect(readConfig({ DROVER_NAMESPACE: 'shop, bank,shop' }).namespaces).toEqual(['shop', 'bank']);
});

test('a variable that is set is used', () => {
  const env = {
    DROVER_CLUSTER: 'east',
    DROVER_BURST: '100',
    DROVER_HEALTH_PORT: '0',
    DROVER_HEALTH_ADDRESS: '0.0.0.0',
  };
  expect(readConfig(env)).toMatchObject({ cluster: 'east', burst: 100, health: { address: '0.0.0.0', port: 0 } });
});

describe('a variable that cannot be used is named, with what would be right', () => {
  test.each([
    ['DROVER_BURST', 'abc', 'DROVER_BURST=abc: must be a whole number from 1 to 1000'],
    ['DROVER_BURST', '1001', 'DROVER_BURST=1001: must be a whole number from 1 to 1000'],
    ['DROVER_HEALTH_PORT', '70000', 'DROVER_HEALTH_PORT=70000: must be a whole number from 0 to 65535'],
    [
      'DROVER_NAMESPACE',
      'shop;bank',
      'DROVER_NAMESPACE=shop;bank: must be the names of namespaces, with commas between them',
    ],
    ['DROVER_NAMESPACE', 'shop,', 'must be the names of namespaces'],
    ['DROVER_CLUSTER', 'East', 'DROVER_CLUSTER=East: must be at most 63 lower-case letters, digits, "-" and "."'],
  ])('%s=%s', (name, value, sentence) => {
    expect(() => readConfig({ [name]: value })).toThrow(sentence);
  });
});
