const MESSAGES: Record<string, string> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
};

/** Says in a few words why a file can't be read, or what is wrong with its text. */
export function whyUnreadable(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // YAML parsers show the faulty line below the first, or add details.
  return MESSAGES[code] ?? message.split('\n')[0]!.replace(/:$/, '');
}
