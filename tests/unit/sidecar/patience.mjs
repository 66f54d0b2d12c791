// To be imported first: the deadlines that are not under test are so long, here and in processes started from here, that none comes
// first on a busy machine.
process.env.POSTHORN_RENDER_PATIENCE = '40';
