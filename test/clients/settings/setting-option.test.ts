import { expect, test } from 'vitest';
import { settingOption } from '../../../clients/settings/setting-option.ts';

test('the flag of a setting says what it takes, and what holds without it', () => {
  const setting = { what: 'the certificate', variable: 'X', flag: '--tls-cert' };
  const file = settingOption({ ...setting, without: 'must be given behind a proxy', isPath: true });
  expect([file.flags, file.description]).toEqual([
    '--tls-cert <file>',
    'the certificate (must be given behind a proxy)',
  ]);
  const number = settingOption({ ...setting, value: '50', within: [1, 100] });
  expect([number.flags, number.description]).toEqual(['--tls-cert <number>', 'the certificate (default: 50)']);
});
