/** Returns a value without what may be secret in the address of a server: its user and password, and its query. */
export const masked = (value: string): string =>
  value.replace(/(:\/\/)\S*@/, '$1(secret)@').replace(/(:\/\/[^\s?]*\?)\S+/, '$1(secret)');
