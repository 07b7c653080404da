const WORDS: Record<string, string> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
};

/** Why a file can't be read, or what is wrong with its text, in a few words. */
export function whyUnreadable(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // YAML's parsers draw the line below, or tell the rest of their thoughts.
  return WORDS[code] ?? message.split('\n')[0]!.replace(/:$/, '');
}
