// SPDX-License-Identifier: MIT

import Contending
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A client on swift-nio's WebSocket codec, without a layer above it.
///
/// The first argument selects what the application is: a `handler` in the channel's pipeline, on its thread, or a task
/// that uses it as an async `channel`.
@main
struct NIOSocketContender: Contender {
    private let usesHandler: Bool
    private let client = Client()

    static func main() throws {
        try Stage.perform(NIOSocketContender(usesHandler: CommandLine.arguments.dropFirst().first == "handler"))
    }

    func echoes(_ url: URL, size: Int, window: Int, until end: Double) async throws -> Int {
        let work = EchoWork(size: size, window: window, end: end)
        return try await usesHandler ? client.handle(work, url) : client.perform(work, url)
    }
}

struct EchoWork: Sendable {
    let size: Int
    let window: Int
    let end: Double

    var message: ByteBuffer { ByteBuffer(repeating: 0x61, count: size) }
    var isOver: Bool { ResourceUse.uptime >= end }
}

extension WebSocketFrame {
    /// A message of a client, with a mask of its own.
    static func message(_ bytes: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: .binary, maskKey: .random(), data: bytes)
    }
}

/// The connection, which stays open from one piece of work to the next.
actor Client {
    private var handler: EchoHandler.Handle?
    private var jobs: AsyncStream<ChannelJob>.Continuation?

    func handle(_ work: EchoWork, _ url: URL) async throws -> Int {
        if handler == nil {
            handler = try await Self.connect(to: url) { channel in
                let handler = EchoHandler()
                try channel.pipeline.syncOperations.addHandler(handler)
                return EchoHandler.Handle(NIOLoopBound(handler, eventLoop: channel.eventLoop), channel)
            }
        }
        guard let handler else { throw WrongResponse() }
        return try await handler.perform(work)
    }

    func perform(_ work: EchoWork, _ url: URL) async throws -> Int {
        if jobs == nil {
            let channel = try await Self.connect(to: url) { channel in
                try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(wrappingChannelSynchronously: channel)
            }
            let (stream, continuation) = AsyncStream.makeStream(of: ChannelJob.self)
            jobs = continuation
            Task { try await ChannelJob.performAll(stream, over: channel) }
        }
        return try await withCheckedThrowingContinuation { jobs?.yield(ChannelJob(work: work, result: $0)) }
    }

    private static func connect<Upgraded: Sendable>(
        to url: URL, _ upgraded: @escaping @Sendable (any Channel) throws -> Upgraded
    ) async throws -> Upgraded {
        let upgrade = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: url.host ?? "", port: url.port ?? 80) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<Upgraded?>(maxFrameSize: 16 << 20) { channel, _ in
                        channel.eventLoop.makeCompletedFuture { try upgraded(channel) }
                    }
                    let head = HTTPRequestHead(
                        version: .http1_1, method: .GET, uri: "/", headers: ["Host": "localhost"])
                    let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: head, upgraders: [upgrader]
                    ) { $0.eventLoop.makeSucceededFuture(nil) }
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                        configuration: NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade))
                }
            }
        guard let result = try await upgrade.get() else { throw WrongResponse() }
        return result
    }
}

/// The application as the last handler of the pipeline. Frames that one read completes are replied to in one write.
final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// The handler, for the tasks of others.
    struct Handle: Sendable {
        private let handler: NIOLoopBound<EchoHandler>
        private let channel: any Channel

        init(_ handler: NIOLoopBound<EchoHandler>, _ channel: any Channel) {
            (self.handler, self.channel) = (handler, channel)
        }

        func perform(_ work: EchoWork) async throws -> Int {
            let promise = channel.eventLoop.makePromise(of: Int.self)
            channel.eventLoop.execute { [handler] in handler.value.start(work, promise) }
            return try await promise.futureResult.get()
        }
    }

    private var context: ChannelHandlerContext?
    private var work = EchoWork(size: 0, window: 0, end: 0)
    private var message = ByteBuffer()
    private var promise: EventLoopPromise<Int>?
    private var (count, pending) = (0, 0)

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    private func start(_ work: EchoWork, _ promise: EventLoopPromise<Int>) {
        (self.work, self.promise, message) = (work, promise, work.message)
        (count, pending) = (0, work.window)
        for _ in 0..<work.window { context?.write(wrapOutboundOut(.message(message)), promise: nil) }
        context?.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard unwrapInboundIn(data).data.readableBytes == work.size else { return fail(WrongResponse()) }
        count += 1
        if work.isOver {
            pending -= 1
            if pending == 0 { promise?.succeed(count) }
        } else {
            context.write(wrapOutboundOut(.message(message)), promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }
    func channelInactive(context: ChannelHandlerContext) { fail(ChannelError.eof) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }

    private func fail(_ error: any Error) { promise?.fail(error) }
}

/// Work for the task that has the async channel.
struct ChannelJob: Sendable {
    let work: EchoWork
    let result: CheckedContinuation<Int, any Error>

    static func performAll(
        _ jobs: AsyncStream<ChannelJob>, over channel: NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    ) async throws {
        try await channel.executeThenClose { inbound, outbound in
            var frames = inbound.makeAsyncIterator()
            for await job in jobs {
                do {
                    job.result.resume(returning: try await job.work.perform(&frames, outbound))
                } catch {
                    job.result.resume(throwing: error)
                }
            }
        }
    }
}

extension EchoWork {
    fileprivate func perform(
        _ frames: inout NIOAsyncChannelInboundStream<WebSocketFrame>.AsyncIterator,
        _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    ) async throws -> Int {
        let message = message
        for _ in 0..<window { try await outbound.write(.message(message)) }
        var (count, pending) = (0, window)
        while pending > 0 {
            guard try await frames.next()?.data.readableBytes == size else { throw WrongResponse() }
            count += 1
            if isOver { pending -= 1 } else { try await outbound.write(.message(message)) }
        }
        return count
    }
}
