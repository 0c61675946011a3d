// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Other clients, in a separate package: building them takes minutes, and only `../transports` and `../sockets` do it.
let package = Package(
    name: "Peers",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "Benchmarks", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
    ],
    targets: [
        .executableTarget(
            name: "async-http-client-contender",
            dependencies: [
                .product(name: "Contending", package: "Benchmarks"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(
            name: "nio-socket-contender",
            dependencies: [
                .product(name: "Contending", package: "Benchmarks"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
