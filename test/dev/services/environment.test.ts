import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { exportLines, environmentWithoutTemporal } from '../../../dev/services/environment.ts';

test.each(['plain', 'with spaces', "it's", '$HOME `id` "x"', 'a\nb', '\\'])(
  'a shell reads %j back unchanged',
  (value) => {
    const read = execFileSync(
      '/bin/sh',
      ['-c', `${exportLines({ VALUE: value, NEXT: 'x' })}printf '%s|%s' "$VALUE" "$NEXT"`],
      { encoding: 'utf8' },
    );
    expect(read).toBe(`${value}|x`);
  },
);

test('settings for another Temporal are left out, and nothing else', () => {
  const env = { PATH: '/bin', TEMPORAL_ADDRESS: 'elsewhere', TEMPORAL_API_KEY: 'key', TEMPORAL_TLS: 'true' };
  expect(environmentWithoutTemporal(env)).toEqual({ PATH: '/bin' });
});
