import { expect, test } from 'vitest';
import { unreleasedIn, changelogVersions, withSection } from '../../../deploy/release/changelog.ts';

const BEFORE = `# Changelog

## Unreleased

### Added
- A thing.

## 0.1.0 - 2027-01-02

- All.
`;

test('the unreleased part ends where the newest version begins', () => {
  expect(unreleasedIn(BEFORE)).toBe('### Added\n- A thing.');
  expect(unreleasedIn('# Changelog\n\n## Unreleased\n\n- A thing.\n')).toBe('- A thing.');
});

test('a changelog without unreleased changes has none', () => {
  expect(unreleasedIn(withSection(BEFORE, '0.2.0', '2027-03-04'))).toBe('');
  expect(unreleasedIn('# Changelog\n')).toBe('');
});

test('a release puts what was unreleased under its version', () => {
  const after = withSection(BEFORE, '0.2.0', '2027-03-04');
  expect(after).toContain('## Unreleased\n\n## 0.2.0 - 2027-03-04\n\n### Added\n- A thing.\n');
  expect(changelogVersions(after)).toEqual(['0.2.0', '0.1.0']);
});
