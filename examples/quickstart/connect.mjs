// Commands and settings that connect common MCP hosts to the binary on this machine.
export function connectionLines(posthorn) {
  const server = JSON.stringify({ command: posthorn, args: ['mcp'] });
  return `Connect your assistant:

  Claude Code      claude mcp add posthorn -- ${posthorn} mcp
  Claude Desktop   claude_desktop_config.json: {"mcpServers":{"posthorn":${server}}}
  Codex            codex mcp add posthorn -- ${posthorn} mcp
  Cursor           .cursor/mcp.json: {"mcpServers":{"posthorn":${server}}}
  VS Code          code --add-mcp '${JSON.stringify({ name: 'posthorn', command: posthorn, args: ['mcp'] })}'
`;
}
