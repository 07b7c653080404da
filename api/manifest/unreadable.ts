const MESSAGES: Record<string, string> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text, as YAML and JSON must be',
};

/** Says in a few words why a file can't be read, or what is wrong with its text. */
export function whyUnreadable(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // YAML parsers show the faulty line below the first, or add details.
  return MESSAGES[code] ?? message.split('\n')[0]!.replace(/:$/, '');
}
