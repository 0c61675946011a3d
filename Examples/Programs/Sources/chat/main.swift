// SPDX-License-Identifier: MIT

import PulseKit

// chat URL ROOM    posts each line of the input, and prints the messages of the room
let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(64) }

let room = Room()
let client = PulseClient(
    baseURL: arguments[1], plugins: [.bearer(ProcessInfo.processInfo.environment["TOKEN"] ?? "")])
let socket = TypedSocket<Message>(endpoint: Chat(room: arguments[2]), client: client) { greeting in
    try await greeting.send(Join(after: room.last))
    for post in await room.unconfirmed { try await greeting.send(post) }
}

do {
    try await socket.connect()
    Task {
        for await case .reconnecting(let error, _, _, _) in socket.states {
            FileHandle.standardError.write(Data("chat: reconnects after: \(error)\n".utf8))
        }
    }
    Task {
        for await line in lines() {
            let post = Post(text: line)
            await room.add(post)
            // If it fails, the next connection sends the post again.
            try? await socket.send(post)
        }
        await room.leave()
        if await room.isDone { await socket.close() }
    }
    for await message in socket.messages {
        guard await room.takes(message) else { continue }
        // Not `print` with a flush of all files, which waits for the one that is being read.
        FileHandle.standardOutput.write(Data("\(message.from): \(message.text)\n".utf8))
        if await room.isDone { await socket.close() }
    }
    if case .closed(let error?) = socket.state { throw error }
    await client.shutdown()
} catch {
    FileHandle.standardError.write(Data("chat: \(error)\n".utf8))
    exit(69)
}
