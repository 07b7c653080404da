/** Imported before the checks, which then expect the delays of real servers. */
process.env['DROVER_CHECKS_OF_REAL_SERVERS'] = '1';
